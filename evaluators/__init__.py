"""The evaluators: metrics as data, pure scoring, and the engines that they call."""
