"""TRACe: is the context relevant, is it used, is all of it used, and does the answer keep to it?"""
