"""What a leaderboard shows beyond its numbers: problems, insights, calibration, the gate."""
