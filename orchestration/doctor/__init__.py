"""What `scoreline doctor` looks at."""
