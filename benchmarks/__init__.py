"""Measurements of speed and memory: each is a program that prints a table."""
