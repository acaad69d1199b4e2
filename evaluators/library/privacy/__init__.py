"""Privacy: does the answer give away what nobody should read?"""
