"""What starts runs: schedules, sensors, watched files; and the alerts of failed ones."""
