"""Posts a message to a webhook when a run fails."""

from __future__ import annotations

import json
import os
import urllib.request
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assets.project import Alerts

TIMEOUT_S = 10.0
MAX_MESSAGE_CHARS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A run that failed.

    Attributes:
        project: The folder of the project.
        job: The job.
        run_id: The run.
        steps: The steps that failed.
        message: Dagster's message.
    """

    project: str
    job: str
    run_id: str
    steps: list[str] = field(default_factory=list)
    message: str


def webhook_url(alerts: Alerts) -> str | None:
    """Return the address of the webhook, or None if none is configured or the variable is unset."""
    if alerts.webhook_env is not None:
        return os.environ.get(alerts.webhook_env) or None
    return alerts.webhook


def post_alert(webhook: str, failure: Failure) -> None:
    """Post a failure as JSON; Slack, Mattermost and others show the field `text`.

    Raises:
        OSError: The server did not answer or refused; Dagster shows it at the sensor's tick.
    """
    steps = f" in {', '.join(failure.steps)}" if failure.steps else ""
    text = f"Scoreline: run {failure.run_id[:8]} of {failure.job} failed{steps}"
    message = failure.message[:MAX_MESSAGE_CHARS]
    body = json.dumps({"text": f"{text}\n{message}", **asdict(failure), "message": message})
    request = urllib.request.Request(  # noqa: S310 - the configuration accepts http and https only
        webhook, data=body.encode(), headers={"Content-Type": "application/json"}, method="POST"
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT_S):  # noqa: S310
        pass
