"""Child processes that run the code of systems: started, watched, ended."""
