"""Citations: does the answer point to the right evidence?"""
