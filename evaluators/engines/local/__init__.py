"""Models that run in this process: embeddings, classifiers, cross-encoders, language models."""
