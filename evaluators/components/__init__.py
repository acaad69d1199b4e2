"""Parts that several evaluators share: claims, similarity, rankings, GPTScore, sentence labels."""
