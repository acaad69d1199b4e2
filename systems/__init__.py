"""Systems under test: asking a Python function, an HTTP service, a model or a command."""
