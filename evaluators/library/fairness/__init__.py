"""Fairness: does the answer treat all people alike?"""
