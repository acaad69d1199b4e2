"""Pairwise: which of two systems answers the same question better?"""
