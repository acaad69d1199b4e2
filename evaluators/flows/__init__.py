"""Flows: the requests that evaluators yield, prompts and replies, and their scheduler."""
