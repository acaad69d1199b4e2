"""Faults: what is left when something breaks off, fills up or goes away in the middle of a run.

Every test here breaks a real thing: it kills real processes (`kill -9`), fills a real disk, takes
write permission away, stops a real PostgreSQL, or sets the clock back. It then does what
a user would do next, runs again, and holds all tables against those of a run that nothing
disturbed. What was paid for may not be asked twice. None of them is a mock of our own code.

They take long, and services: `make faults` and the nightly run execute all of them. Where only
`SCORELINE_REQUIRE_SERVICES=1` is set, as in continuous integration, a part is executed. A service
that is absent is a failure then, not a reason to skip.
"""
