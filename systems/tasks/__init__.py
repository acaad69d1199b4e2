"""Tasks: the requests to a model for a question, and how its completions are read."""
