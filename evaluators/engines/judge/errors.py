"""Why a judge cannot be asked at all; each stops the run at once, with one line.

JudgeFailure
├── JudgeRefused       the key or the model is wrong, or the account has no credit
├── JudgeUnreachable   nobody answers at the address
├── BadJudgeSettings   settings that contradict each other or lack something
└── BadRecording       recorded replies that cannot be read

What goes wrong with a single question is no error of this kind: see `outcome.JudgeError`.
"""

from __future__ import annotations

from evaluators.errors import EvaluatorError


class JudgeFailure(EvaluatorError):  # noqa: N818 - the name says what it is
    """Nothing can be asked; what was answered before is kept."""


class JudgeRefused(JudgeFailure):
    """The judge was reached and will not answer: a wrong key or model, or no credit."""


class JudgeUnreachable(JudgeFailure):
    """Nobody answers at the judge's address."""


class BadJudgeSettings(JudgeFailure):
    """Settings that contradict each other, or lack what others need."""


class BadRecording(JudgeFailure):
    """A file of recorded replies that cannot be read; the message names file and line."""
