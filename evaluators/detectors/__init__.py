"""Detectors: rules that find personal data and secrets in a text."""
