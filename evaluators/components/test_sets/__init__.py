"""Test sets: variants of questions, and questions proposed and checked by a judge model."""
