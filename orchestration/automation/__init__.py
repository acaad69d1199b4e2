"""Schedules, sensors and alerts of failed runs."""
