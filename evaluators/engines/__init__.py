"""Engines: what evaluators ask of the world. Heavy libraries are imported inside functions."""
