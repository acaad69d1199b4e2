"""The leaderboard: aggregation, uncertainty and comparisons."""
