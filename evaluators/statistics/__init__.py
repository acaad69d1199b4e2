"""Statistics over scores, with arrays in and arrays out.

A missing number is NaN in these arrays; callers that store them convert it to null.
"""
