"""The settings of systems that are asked; this module loads nothing heavy."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from evaluators.engines.local.weights import locate
from evaluators.engines.roles import Options
from evaluators.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Mapping


START_TIMEOUT_S: Final = 600.0


@dataclass(frozen=True, kw_only=True)
class SystemSettings:
    """What all kinds of systems have in common.

    Attributes:
        name: The name of the system.
        home: The folder that paths are relative to.
        concurrency: The most requests in progress at once.
        requests_per_minute: The most requests per minute, evenly spaced.
        timeout_s: The timeout of one attempt, in seconds.
        retries: How often a failed transport is tried again.
        budget_usd: The most US dollars that a run may spend on this system.
        daily_budget_usd: The most that all runs of a project may spend on it in 24 hours.
        version: The version that the user gives the system.
    """

    kind: ClassVar[str]

    name: str
    home: Path
    concurrency: int = 8
    requests_per_minute: int | None = None
    timeout_s: float = 120.0
    retries: int = 3
    budget_usd: float | None = None
    daily_budget_usd: float | None = None
    version: str | None = None

    def parameters(self) -> Mapping[str, Any]:
        """Return what the answers depend on besides the question and files, as JSON values."""
        raise NotImplementedError

    def files(self) -> tuple[Path, ...]:
        """Return the files that the answers depend on."""
        return ()

    @cached_property
    def digest(self) -> str:
        """The version of the system: its configuration, its files and `version`.

        Raises:
            OSError: A file cannot be read.
        """
        contents = [hashlib.sha256(file.read_bytes()).hexdigest() for file in self.files()]
        described = [self.kind, dict(self.parameters()), contents, self.version]
        text = json.dumps(described, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True, kw_only=True)
class PythonSystem(SystemSettings):
    """A Python function.

    Attributes:
        module: A file, relative to `home`, or the name of an importable module.
        function: The name of the function.
        start_timeout_s: The most seconds until a process has loaded the function.
    """

    kind = "python"

    module: str
    function: str
    start_timeout_s: float = START_TIMEOUT_S

    @property
    def file(self) -> Path | None:
        """The source file, if a file is given; None for a module."""
        return self.home / self.module if self.module.endswith(".py") else None

    def parameters(self) -> Mapping[str, Any]:
        """Return the function."""
        return {"python": f"{self.module}:{self.function}"}

    def files(self) -> tuple[Path, ...]:
        """Return the source file of the function, also that of a module."""
        if self.file is not None:
            return (self.file,)
        from importlib.util import find_spec

        try:
            spec = find_spec(self.module)
        except ImportError:  # of the package that the module is in
            return ()
        origin = None if spec is None else spec.origin
        return () if origin is None or not Path(origin).is_file() else (Path(origin),)


@dataclass(frozen=True, kw_only=True)
class HttpSystem(SystemSettings):
    """An HTTP service.

    Attributes:
        url: The address; `${NAME}` in it and in headers stands for an environment variable.
        method: The HTTP method.
        headers: Headers by name.
        body: The body as JSON values; texts in it are templates. None sends no body.
        paths: JSONPath expressions by field of a prediction, or `tokens_in` and `tokens_out`.
        stream: The JSONPath of a part of the answer in each event of a streamed one; None if
            answers are not streamed.
        max_reply_mb: The largest size of an answer, in megabytes.
    """

    kind = "http"

    url: str
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    paths: Mapping[str, str] = field(default_factory=dict)
    stream: str | None = None
    max_reply_mb: float = 16.0

    def parameters(self) -> Mapping[str, Any]:
        """Return the request with its templates, and where its answer is."""
        return {
            "url": self.url,
            "method": self.method,
            "headers": dict(self.headers),
            "body": self.body,
            "paths": dict(self.paths),
            **({} if self.stream is None else {"stream": self.stream}),
        }


@dataclass(frozen=True, kw_only=True)
class CommandSystem(SystemSettings):
    """A program that reads questions and writes answers, one JSON object per line.

    Attributes:
        command: The program and its arguments.
        start_timeout_s: The most seconds until a process reads its first question.
    """

    kind = "command"

    command: tuple[str, ...]
    concurrency: int = 1
    start_timeout_s: float = START_TIMEOUT_S

    def parameters(self) -> Mapping[str, Any]:
        """Return the command."""
        return {"command": list(self.command)}

    def files(self) -> tuple[Path, ...]:
        """Return the files among the arguments, such as a script."""
        program, *arguments = self.command
        # A name without a folder is looked up on PATH.
        named = [program, *arguments] if "/" in program else arguments
        return tuple(path for each in named if (path := self.home / each).is_file())


@dataclass(frozen=True, kw_only=True)
class ModelSystem(SystemSettings):
    """A model that LiteLLM calls.

    Attributes:
        model: The model's name in LiteLLM.
        api_base: The address of the API, for local servers.
        api_key_env: The environment variable of the key.
        prompt: The text of the prompt, a template; None asks the text of the question.
        prompt_file: The file with that text.
        task: What builds the requests and reads the replies instead of a prompt; see `tasks`.
        temperature: The sampling temperature.
        top_p: The mass of nucleus sampling.
        seed: The seed of the first answer; each repeat adds 1.
        max_tokens: The most tokens of an answer.
        stop: Texts that end an answer.
        stream: Whether answers are streamed, which measures the time to the first token.
        usd_per_million_in: The price of a million input tokens, if LiteLLM has none.
        usd_per_million_out: The price of a million output tokens.
        usd_per_million_cache_read: The price of input tokens that the provider read from its
            cache; that of the others unless given.
        usd_per_million_cache_write: The price of input tokens that it wrote to its cache; that of
            the others unless given.
        max_reply_mb: The largest size of an answer, in megabytes.
    """

    kind = "model"

    model: str
    api_base: str | None = None
    api_key_env: str | None = None
    prompt: str | None = None
    prompt_file: Path | None = None
    task: Any = None
    concurrency: int = 32
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    stream: bool = False
    usd_per_million_in: float | None = None
    usd_per_million_out: float | None = None
    usd_per_million_cache_read: float | None = None
    usd_per_million_cache_write: float | None = None
    max_reply_mb: float = 4.0

    def parameters(self) -> Mapping[str, Any]:
        """Return the model and how it is sampled."""
        return {
            "model": self.model,
            "api_base": self.api_base,
            "prompt": self.prompt,
            "task": None if self.task is None else self.task.parameters(),
            "temperature": self.temperature,
            "top_p": self.top_p,
            "seed": self.seed,
            "max_tokens": self.max_tokens,
            "stop": list(self.stop),
        }

    def files(self) -> tuple[Path, ...]:
        """Return the file of the prompt, and those of the task."""
        own = () if self.prompt_file is None else (self.prompt_file,)
        return (*own, *(() if self.task is None else self.task.files()))


@dataclass(frozen=True, kw_only=True)
class LocalModelSystem(SystemSettings):
    """A causal language model on this machine, which does a task.

    Attributes:
        model: A folder, `package:` and a distribution, or a hub name; see `weights.locate`.
        task: What builds the requests and reads the replies; see `tasks`.
        options: How the model is run.
    """

    kind = "local_model"

    model: str
    task: Any
    options: Options = field(default_factory=Options)
    concurrency: int = 32
    timeout_s: float = 3600.0

    def parameters(self) -> Mapping[str, Any]:
        """Return the model, its floating-point type and the task.

        A folder is identified by its files, a hub name by itself, as its commit is unknown until
        it is downloaded.
        """
        try:
            found = locate(self.model, self.home)
            identity = self.model if found.repository is not None else found.identity
        except Unavailable:
            identity = self.model
        return {"model": identity, "dtype": self.options.dtype, "task": self.task.parameters()}

    def files(self) -> tuple[Path, ...]:
        """Return the files of the task."""
        found: tuple[Path, ...] = self.task.files()
        return found
