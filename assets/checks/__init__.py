"""Asset checks: expectations of every table, gates and drift."""
