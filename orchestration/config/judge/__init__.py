"""The judge in the configuration: its keys, and what creates it."""
