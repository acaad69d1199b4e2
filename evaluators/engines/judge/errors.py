"""Errors of the judge that end the run with one line.

JudgeFailure
├── JudgeRefused       the key or the model is wrong, or the account has no credit
├── JudgeUnreachable   no server answers at the address
├── BadJudgeSettings   settings contradict each other or are incomplete
└── BadRecording       a replay file cannot be read

Failures of one call are in `calls.errors`; they become an `outcome.JudgeError`.
"""

from __future__ import annotations

from evaluators.errors import EvaluatorError


class JudgeFailure(EvaluatorError):  # noqa: N818 - the name says what it is
    """The judge cannot be called; stored replies are not lost."""


class JudgeRefused(JudgeFailure):
    """The judge rejects all calls: a wrong key or model, or no credit."""


class JudgeUnreachable(JudgeFailure):
    """No server answers at the judge's address."""


class BadJudgeSettings(JudgeFailure):
    """The settings contradict each other or are incomplete."""


class BadRecording(JudgeFailure):
    """A replay file cannot be read; the message names file and line."""
