"""Fairness: does the answer treat people alike, whoever they are?"""
