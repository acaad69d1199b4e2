"""The example projects in one code location: `dg dev` in the repository shows them."""

import dagster as dg
from scoreline.dagster import build_defs

defs = dg.Definitions.merge(
    build_defs("handbook/scoreline.yaml", key_prefix="handbook", group_prefix="handbook"),
    build_defs("team-dagster/scoreline.yaml", key_prefix="help_desk", group_prefix="help_desk"),
)
