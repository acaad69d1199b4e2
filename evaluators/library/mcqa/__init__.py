"""Multiple choice: how much probability does the system put on the right option?"""
