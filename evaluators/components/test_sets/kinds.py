"""The kinds of questions and perturbations that a judge model writes; this module loads nothing."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal["simple", "multi_hop", "unanswerable"]
RewriteKind: TypeAlias = Literal["paraphrase", "language"]

KINDS: Final[tuple[Kind, ...]] = ("simple", "multi_hop", "unanswerable")
REWRITE_KINDS: Final[tuple[RewriteKind, ...]] = ("paraphrase", "language")
