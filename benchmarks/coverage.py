"""Coverage and error rates of the statistics, by simulations with a known truth.

`python -m benchmarks.coverage [PART]... [--repeats N]` prints the tables of
`docs/trust.md`. All random numbers have fixed seeds.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil

import benchmarks.simulations
from benchmarks.measure import table


def main() -> None:
    """Print the tables of all simulations, or of the named ones."""
    modules = pkgutil.iter_modules(benchmarks.simulations.__path__)
    names = [each.name for each in modules if each.name != "result"]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "parts", nargs="*", choices=[[], *names], metavar="PART", help=", ".join(names)
    )
    parser.add_argument("--repeats", type=int, default=2_000, help="simulated benchmarks per row")
    arguments = parser.parse_args()
    for name in arguments.parts or names:
        simulation = importlib.import_module(f"benchmarks.simulations.{name}")
        for each in simulation.tables(arguments.repeats):
            print(f"\n**{each.title}**\n\n{table(each.heads, each.rows)}", flush=True)


if __name__ == "__main__":
    main()
