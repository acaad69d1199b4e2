"""Statistics over scores, arrays in and arrays out: how sure a number is, and what it is worth.

A number that does not exist is NaN in these arrays; whoever stores them turns it into a null.
"""
