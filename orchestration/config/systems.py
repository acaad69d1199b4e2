"""Builds the systems that are asked from their keys, and checks the names that benchmarks use."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from orchestration.config.error_messages import describe_unknown
from orchestration.config.tasks import LOCAL, build_task
from systems.settings import (
    CommandSystem,
    HttpSystem,
    LocalModelSystem,
    ModelSystem,
    PythonSystem,
    SystemSettings,
)
from warehouse.formats.catalog import formats

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from evaluators.engines.roles import Options
    from orchestration.config.evaluators import ReportFault
    from orchestration.config.schema import BenchmarkKeys
    from orchestration.config.system_schema import HttpKeys, SystemKeys

KINDS: Final = ("python", "http", "model", "command")

_SHARED: Final = (
    *("concurrency", "requests_per_minute", "timeout_s", "retries"),
    *("budget_usd", "daily_budget_usd", "version"),
)
_MODEL_ONLY: Final = (
    *("api_base", "api_key_env", "prompt", "temperature", "top_p", "seed", "max_tokens", "stop"),
    *("stream", "usd_per_million_in", "usd_per_million_out", "max_reply_mb"),
    *("usd_per_million_cache_read", "usd_per_million_cache_write"),
)
_NOT_PATHS: Final = ("url", "method", "headers", "body", "stream", "max_reply_mb")

_SECRET_HEADER: Final = re.compile(
    r"authorization|cookie|.*(key|token|secret|password).*", re.IGNORECASE
)
_VARIABLE: Final = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
_PROMPT_FILE: Final = re.compile(r"[^\n{}]+\.(j2|jinja|jinja2|txt|md)")


class SystemBuilder:
    """Builds systems; reports the faults in the combinations of their keys."""

    def __init__(self, report: ReportFault, home: Path, options: Options) -> None:
        """Set how faults are reported, the folder of paths, and how local models are run."""
        self._report = report
        self._home = home
        self._options = options

    def build(self, keys: Mapping[str, SystemKeys]) -> dict[str, SystemSettings]:
        """Return the systems without faults, by name."""
        built = {name: self._build(name, each) for name, each in keys.items()}
        return {name: system for name, system in built.items() if system is not None}

    def _build(self, name: str, keys: SystemKeys) -> SystemSettings | None:
        path = ("systems", name)
        given = [kind for kind in KINDS if getattr(keys, kind) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none of them"
            self._report(
                f"{'.'.join(path)}: expected one of {', '.join(KINDS)}, found {found}", *path
            )
            return None
        (kind,) = given
        if kind != "model":
            self._refuse(keys, ("task", *_MODEL_ONLY), path, "only a system with `model`")
        if kind not in {"python", "command"}:
            who = "only a system with `python` or `command`"
            self._refuse(keys, ("start_timeout_s",), path, who)
        shared: dict[str, Any] = {
            key: value for key in _SHARED if (value := getattr(keys, key)) is not None
        }
        shared |= {"name": name, "home": self._home}
        if kind in {"python", "command"} and keys.start_timeout_s is not None:
            shared["start_timeout_s"] = keys.start_timeout_s
        if keys.http is not None:
            return self._http(keys.http, shared, path)
        if keys.python is not None:
            return self._python(keys.python, shared, path)
        if keys.command is not None:
            return CommandSystem(command=tuple(keys.command), **shared)
        if str(keys.model).startswith(LOCAL):
            return self._local_model(keys, shared, path)
        return self._model(keys, shared, path)

    def _refuse(
        self, keys: SystemKeys, names: Sequence[str], path: tuple[str, str], who: str
    ) -> None:
        for key in names:
            if getattr(keys, key) is not None:
                self._report(f"{'.'.join(path)}.{key}: {who} has this key", *path, key)

    def _python(
        self, target: str, shared: dict[str, Any], path: tuple[str, str]
    ) -> PythonSystem | None:
        module, colon, function = target.rpartition(":")
        where = f"{'.'.join(path)}.python"
        if not colon or not function.isidentifier() or not module:
            message = f"{where}: expected FILE_OR_MODULE:FUNCTION, such as my_rag.py:answer"
            self._report(message, *path, "python")
            return None
        if module.endswith(".py"):
            if not (self._home / module).is_file():
                self._report(f"{where}: there is no file {module!r}", *path, "python")
                return None
        elif not all(part.isidentifier() for part in module.split(".")):
            message = f"{where}: {module!r} is neither a .py file nor the name of a module"
            self._report(message, *path, "python")
            return None
        return PythonSystem(module=module, function=function, **shared)

    def _http(self, keys: HttpKeys, shared: dict[str, Any], path: tuple[str, str]) -> HttpSystem:
        for name, value in keys.headers.items():
            if _SECRET_HEADER.fullmatch(name) and not _VARIABLE.search(value):
                # The message does not repeat the value, because it may be the key itself.
                self._report(
                    f"{'.'.join(path)}.http.headers.{name}: expected an environment variable such "
                    "as ${RAG_KEY}; never write the key itself into this file",
                    *(*path, "http", "headers", name),
                )
        if keys.stream is not None and keys.answer is not None:
            message = f"{'.'.join(path)}.http: give `answer` or `stream`, not both"
            self._report(message, *path, "http", "stream")
        given = keys.model_dump(exclude_none=True)
        paths = {name: each for name, each in given.items() if name not in _NOT_PATHS}
        if isinstance(paths.get("retrieved"), dict):
            fields = paths.pop("retrieved")
            paths |= {f"retrieved.{name}": each for name, each in fields.items()}
        return HttpSystem(
            **shared,
            paths=paths,
            **{name: each for name, each in given.items() if name in _NOT_PATHS},
        )

    def _model(
        self, keys: SystemKeys, shared: dict[str, Any], path: tuple[str, str]
    ) -> ModelSystem:
        given = {key: value for key in _MODEL_ONLY if (value := getattr(keys, key)) is not None}
        if keys.task is not None:
            given["task"] = build_task(keys.task, self._home, self._report, (*path, "task"))
            if keys.prompt is not None:
                self._report(f"{'.'.join(path)}: give `prompt` or `task`, not both", *path, "task")
        if (keys.usd_per_million_in is None) != (keys.usd_per_million_out is None):
            self._report(f"{'.'.join(path)}: give both prices or neither", *path)
        cached = (keys.usd_per_million_cache_read, keys.usd_per_million_cache_write)
        if keys.usd_per_million_in is None and cached != (None, None):
            message = "a price of cached tokens needs usd_per_million_in and usd_per_million_out"
            self._report(f"{'.'.join(path)}: {message}", *path)
        if keys.prompt is not None and _PROMPT_FILE.fullmatch(keys.prompt):
            file = self._home / keys.prompt
            if not file.is_file():
                message = f"{'.'.join(path)}.prompt: there is no file {keys.prompt!r}"
                self._report(message, *path, "prompt")
            del given["prompt"]
            given["prompt_file"] = file
        if keys.stop is not None:
            given["stop"] = tuple(keys.stop)
        return ModelSystem(model=str(keys.model), **given, **shared)

    def _local_model(
        self, keys: SystemKeys, shared: dict[str, Any], path: tuple[str, str]
    ) -> LocalModelSystem | None:
        self._refuse(keys, _MODEL_ONLY, path, "only a model that a server runs")
        task = None
        if keys.task is not None:
            task = build_task(keys.task, self._home, self._report, (*path, "task"))
        if keys.task is None or keys.task.mcqa is None:
            message = f"{'.'.join(path)}: a local model needs the task `mcqa`"
            self._report(message, *path, "model")
            return None
        model = str(keys.model).removeprefix(LOCAL)
        return LocalModelSystem(model=model, task=task, options=self._options, **shared)

    def check_benchmark(
        self, keys: BenchmarkKeys, known: Mapping[str, SystemKeys], path: tuple[str, str]
    ) -> tuple[str, ...]:
        """Return the systems that a benchmark asks; report unknown ones."""
        where = ".".join(path)
        if keys.predictions is None and not keys.systems:
            message = (
                f"the key 'predictions' is missing in {where}; it is not needed with 'systems'"
            )
            self._report(message, *path)
        for at, name in enumerate(keys.systems):
            if name not in known:
                message = describe_unknown(f"system {name!r}", name, known)
                self._report(f"{where}.systems: {message}", *path, "systems", at)
        input_format = formats().get(keys.format)
        without_files = input_format is not None and input_format.questions_from == "predictions"
        if keys.systems and input_format is not None and without_files:
            self._report(
                f"the format {input_format.name!r} has questions in the prediction files: systems "
                "can be asked with formats that have files of questions",
                *(*path, "systems"),
            )
        return tuple(dict.fromkeys(keys.systems))
