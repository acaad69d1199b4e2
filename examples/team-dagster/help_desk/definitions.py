"""What Dagster loads: the team's own asset, and the evaluation of what it writes."""

import dagster as dg
from scoreline.dagster import build_defs

from help_desk.answers import HOME, answers

defs = dg.Definitions.merge(
    dg.Definitions(assets=[answers]),
    build_defs(HOME / "scoreline.yaml", key_prefix="quality", group_prefix="quality"),
)
