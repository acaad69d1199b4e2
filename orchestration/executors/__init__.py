"""Where the steps of a run are executed."""
