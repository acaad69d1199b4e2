"""Generation: is the answer what was asked for?"""
