"""The command line: `python -m scoreline` and the script `scoreline`."""

from orchestration.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
