"""Gates: systems that must reach a number, or must not be worse than a baseline."""
