"""Parts that several evaluators share: claims, similarity, GPTScore, sentence labels."""
