"""The interface of a project: Dagster's webserver, which answers only requests meant for it."""
