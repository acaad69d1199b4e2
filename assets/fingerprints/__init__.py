"""Fingerprints: what each stage was computed from; an equal fingerprint means up to date."""
