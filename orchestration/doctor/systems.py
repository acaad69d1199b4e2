"""Diagnose the systems that benchmarks ask: what ends a run before the first question is asked."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from assets.project import asked_systems
from orchestration.doctor import Diagnosis
from systems.client import SystemRefused
from systems.clients import make_client
from systems.settings import LocalModelSystem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assets.project import Project
    from systems.settings import SystemSettings

_READY = {
    "python": "the function can be called",
    "command": "the program can be started",
    "http": "nothing was sent",
    "model": "nothing was sent",
}


def diagnose_systems(project: Project) -> Iterator[Diagnosis]:
    """Diagnose every system that a benchmark asks, without asking it.

    Keys, templates and paths are checked. Functions are loaded and programs started, as a run does
    first; models on this machine are neither loaded nor downloaded.
    """
    for name in asked_systems(project):
        system = project.systems[name]
        if isinstance(system, LocalModelSystem):
            from systems.local_model_client import model_of

            is_usable, message = model_of(system).readiness()
            yield Diagnosis("ok" if is_usable else "fail", f"system: {name}", message)
            continue
        fault = asyncio.run(_fault_of(system))
        if fault is None:
            yield Diagnosis("ok", f"system: {name}", f"{system.kind}: {_READY[system.kind]}")
        else:
            yield Diagnosis("fail", f"system: {name}", fault)


async def _fault_of(system: SystemSettings) -> str | None:
    """Return why a system cannot be asked; None if it can, as far as is known without asking."""
    try:
        client = make_client(system, [])
    except SystemRefused as refusal:
        return str(refusal)
    try:
        await client.open()
    except SystemRefused as refusal:
        return str(refusal)
    finally:
        await client.close()
    return None
