"""Privacy: does the answer disclose private data?"""
