"""Summarization: does the text say what its reference says?"""
