"""Test sets for a person to review: generated questions, and perturbations of questions."""
