"""Scores of other tools: what did another tool say?"""
