"""`python -m orchestration.cli` is `scoreline`."""

from orchestration.cli import main

if __name__ == "__main__":
    main()
