"""Coverage and error rates of the statistics, by simulations with a known truth.

`python -m benchmarks.coverage [PART]... [--repeats N] [--write]` prints tables; with `--write` it
also stores them, and `make docs` makes `docs/simulations.md` of them. All random numbers have
fixed seeds.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil

import benchmarks.simulations
from benchmarks.measure import table
from benchmarks.simulations.result import write_tables


def parts() -> list[str]:
    """Return the names of all simulations."""
    modules = pkgutil.iter_modules(benchmarks.simulations.__path__)
    return [each.name for each in modules if each.name != "result"]


def main() -> None:
    """Print, and with `--write` store, the tables of all simulations or of the named ones."""
    names = parts()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "parts", nargs="*", choices=[[], *names], metavar="PART", help=", ".join(names)
    )
    parser.add_argument("--repeats", type=int, default=2_000, help="simulated benchmarks per row")
    parser.add_argument("--write", action="store_true", help="store the tables for the page")
    arguments = parser.parse_args()
    for name in arguments.parts or names:
        simulation = importlib.import_module(f"benchmarks.simulations.{name}")
        found = []
        for each in simulation.tables(arguments.repeats):
            print(f"\n**{each.title}**\n\n{table(each.heads, each.rows)}", flush=True)
            found.append(each)
        if arguments.write:
            write_tables(name, found)


if __name__ == "__main__":
    main()
