"""One module per command: its `command`, and `HELP_ORDER` if it is listed before the others."""
