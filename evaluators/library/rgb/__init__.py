"""RGB: does the system stay right when what it retrieved is noisy, silent, scattered or wrong?"""
