"""Orchestration: definitions, settings, resources, jobs and the command line."""
