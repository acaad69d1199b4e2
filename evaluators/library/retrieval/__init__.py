"""Retrieval: did the right documents come back, and how high up?"""
