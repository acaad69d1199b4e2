"""The systems that are asked, as the configuration describes them and clients use them.

This module loads nothing heavy.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

from pydantic import Field, InstanceOf, field_validator

from evaluators.engines.local.weights import name_identity
from evaluators.engines.roles import Options
from records.settings import ApiBase, ConfigModel, Count, EnvVariable, Number, Text, UsDollars
from systems.http.request import HttpRequest
from systems.tasks.mcqa import Mcqa
from systems.tasks.rgb import Rgb

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LOCAL: Final = "local:"
"""The prefix of models that run on this machine."""

_PROMPT_FILE: Final = re.compile(r"[^\n{}]+\.(j2|jinja|jinja2|txt|md)")
_Seconds = Annotated[Number, Field(gt=0)]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Keys of a system that do not fit together, or to the files of the project.

    Attributes:
        message: What is wrong.
        key: The path of the key that it is about, below the system.
        line_of: The path of the key whose line is shown; that of `key` unless given.
    """

    message: str
    key: tuple[str, ...] = ()
    line_of: tuple[str, ...] | None = None


class SystemSettings(ConfigModel):
    """What all kinds of systems have in common.

    `name` and `home` are not keys of a system in the configuration.

    Attributes:
        concurrency: The most questions in progress at once: 8 unless given, 32 for models, and 1
            for programs.
        requests_per_minute: The most questions per minute, evenly spaced.
        timeout_s: The timeout of one attempt, in seconds: 120 unless given, 3600 for models on this
            machine.
        retries: How often a question is asked again when the transport fails.
        budget_usd: The most US dollars that a run may spend on the system.
        daily_budget_usd: The most US dollars that all runs of the project together, manual ones
            included, may spend on the system in 24 hours.
        version: A name of the version. Another one asks again.
    """

    kind: ClassVar[str]

    name: str = Field(exclude=True)
    home: Path = Field(exclude=True, description="The folder that paths are relative to.")
    concurrency: Count = 8
    requests_per_minute: Count | None = None
    timeout_s: _Seconds = 120.0
    retries: Annotated[int, Field(strict=True, ge=0)] = 3
    budget_usd: UsDollars | None = None
    daily_budget_usd: UsDollars | None = None
    version: Text | None = None

    def parameters(self) -> Mapping[str, Any]:
        """Return what the answers depend on besides the question and files, as JSON values."""
        raise NotImplementedError

    def files(self) -> tuple[Path, ...]:
        """Return the files that the answers depend on."""
        return ()

    def conflicts(self) -> Iterator[Conflict]:
        """Yield what does not fit together, as far as keys and files show it."""
        yield from ()

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


class PythonSystem(SystemSettings):
    """A Python function.

    Attributes:
        python: `FILE_OR_MODULE:FUNCTION`: a function that takes the fields of a question and
            returns a text or the fields of a prediction.
        start_timeout_s: The most seconds that a process may take to start: until it has loaded a
            function, or a program reads its first question. 600 unless given.
    """

    kind = "python"

    python: Text
    start_timeout_s: _Seconds = 600.0

    @property
    def module(self) -> str:
        """A file, relative to `home`, or the name of an importable module."""
        return self.python.rpartition(":")[0]

    @property
    def function(self) -> str:
        """The name of the function."""
        return self.python.rpartition(":")[2]

    @property
    def file(self) -> Path | None:
        """The source file, if a file is given; None for a module."""
        return self.home / self.module if self.module.endswith(".py") else None

    def parameters(self) -> Mapping[str, Any]:
        """Return the function."""
        return {"python": self.python}

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

    def conflicts(self) -> Iterator[Conflict]:
        """Yield what is wrong with the name of the function."""
        if not self.module or not self.function.isidentifier():
            message = "expected FILE_OR_MODULE:FUNCTION, such as my_rag.py:answer"
        elif self.file is not None:
            if self.file.is_file():
                return
            message = f"there is no file {self.module!r}"
        elif all(part.isidentifier() for part in self.module.split(".")):
            return
        else:
            message = f"{self.module!r} is neither a .py file nor the name of a module"
        yield Conflict(message, ("python",))


class HttpSystem(SystemSettings):
    """An HTTP service.

    Attributes:
        http: An HTTP service.
    """

    kind = "http"

    http: HttpRequest

    def parameters(self) -> Mapping[str, Any]:
        """Return the request with its templates, and where its answer is."""
        http = self.http
        return {
            "url": http.url,
            "method": http.method,
            "headers": http.headers,
            "body": http.body,
            "paths": dict(http.paths),
            **({} if http.stream is None else {"stream": http.stream}),
        }

    def conflicts(self) -> Iterator[Conflict]:
        """Yield headers with secrets, and a second path of the answer."""
        for name in self.http.exposed_headers:
            # The message does not repeat the value, because it may be the key itself.
            message = (
                "expected an environment variable such as ${RAG_KEY}; never write the key itself "
                "into this file"
            )
            yield Conflict(message, ("http", "headers", name))
        if self.http.stream is not None and self.http.answer is not None:
            message = "give `answer` or `stream`, not both"
            yield Conflict(message, ("http",), ("http", "stream"))


class CommandSystem(SystemSettings):
    """A program that reads questions and writes answers, one JSON object per line.

    Attributes:
        command: A program and its arguments. It reads a question as a JSON object in a line, and
            writes a prediction in a line.
    """

    kind = "command"

    command: Annotated[list[str], Field(min_length=1)]
    concurrency: Count = 1
    start_timeout_s: _Seconds = 600.0

    def parameters(self) -> Mapping[str, Any]:
        """Return the command."""
        return {"command": self.command}

    def files(self) -> tuple[Path, ...]:
        """Return the files among the arguments, such as a script."""
        program, *arguments = self.command
        # A name without a folder is looked up on PATH.
        named = [program, *arguments] if "/" in program else arguments
        return tuple(path for each in named if (path := self.home / each).is_file())


class ModelSystem(SystemSettings):
    """A model that LiteLLM calls.

    Attributes:
        model: A LiteLLM model name; or `local:` and a folder or a hub name, for a model on this
            machine that does a `task`.
        api_base: The URL of the API of a model: a local server or a proxy.
        api_key_env: The environment variable that holds the key of a model.
        prompt: The prompt of a model, or the file that holds it: a template in which fields of
            questions stand by their names, such as `{{ question }}`.
        task: What a model is asked to do instead of answering a prompt.
        temperature: The sampling temperature of a model.
        top_p: The mass of a model's nucleus sampling.
        seed: The seed of a model.
        max_tokens: The most tokens of an answer.
        stop: Texts that end an answer.
        stream: Whether a model's answers are streamed, which measures the time to the first token.
        usd_per_million_in: The price of a model's input tokens, where LiteLLM has none or a wrong
            one; give both prices or neither.
        usd_per_million_out: The price of its output tokens.
        usd_per_million_cache_read: The price of input tokens that the provider read from its
            cache; that of the others unless given.
        usd_per_million_cache_write: The price of input tokens that it wrote to its cache; that of
            the others unless given.
        max_reply_mb: The largest size of a model's reply, in megabytes.
    """

    kind = "model"

    model: Text
    api_base: ApiBase | None = None
    api_key_env: EnvVariable | None = None
    prompt: Text | None = None
    task: Mcqa | Rgb | None = None
    concurrency: Count = 32
    temperature: Annotated[Number, Field(ge=0, le=2)] | None = None
    top_p: Annotated[Number, Field(gt=0, le=1)] | None = None
    seed: Annotated[int, Field(strict=True)] | None = None
    max_tokens: Count | None = None
    stop: list[str] = Field(default_factory=list)
    stream: Annotated[bool, Field(strict=True)] = False
    usd_per_million_in: UsDollars | None = None
    usd_per_million_out: UsDollars | None = None
    usd_per_million_cache_read: UsDollars | None = None
    usd_per_million_cache_write: UsDollars | None = None
    max_reply_mb: Annotated[Number, Field(gt=0)] = 4.0

    @property
    def prompt_file(self) -> Path | None:
        """The file that holds the prompt; None if `prompt` is the prompt itself."""
        if self.prompt is None or not _PROMPT_FILE.fullmatch(self.prompt):
            return None
        return self.home / self.prompt

    def parameters(self) -> Mapping[str, Any]:
        """Return the model and how it is sampled."""
        return {
            "model": self.model,
            "api_base": self.api_base,
            "prompt": self.prompt if self.prompt_file is None else None,
            "task": None if self.task is None else self.task.parameters(),
            "temperature": self.temperature,
            "top_p": self.top_p,
            "seed": self.seed,
            "max_tokens": self.max_tokens,
            "stop": self.stop,
        }

    def files(self) -> tuple[Path, ...]:
        """Return the file of the prompt, and those of the task."""
        own = () if self.prompt_file is None else (self.prompt_file,)
        return (*own, *(() if self.task is None else self.task.files()))

    def conflicts(self) -> Iterator[Conflict]:
        """Yield a prompt beside a task, prices without others, and a missing file."""
        if self.task is not None and self.prompt is not None:
            yield Conflict("give `prompt` or `task`, not both", line_of=("task",))
        if (self.usd_per_million_in is None) != (self.usd_per_million_out is None):
            yield Conflict("give both prices or neither")
        cached = (self.usd_per_million_cache_read, self.usd_per_million_cache_write)
        if self.usd_per_million_in is None and cached != (None, None):
            message = "a price of cached tokens needs usd_per_million_in and usd_per_million_out"
            yield Conflict(message)
        if self.prompt_file is not None and not self.prompt_file.is_file():
            yield Conflict(f"there is no file {self.prompt!r}", ("prompt",))


class LocalModelSystem(SystemSettings):
    """A causal language model on this machine, which does a task.

    `options`, how the model is run, are not a key of the system in the configuration.

    Attributes:
        model: A folder, `package:` and a distribution, or a hub name, with or without `local:`
            before it; see `weights.locate`.
        task: What builds the requests and reads the replies.
    """

    kind = "local_model"

    model: Text
    task: Mcqa
    options: InstanceOf[Options] = Field(default_factory=Options, exclude=True)
    concurrency: Count = 32
    timeout_s: _Seconds = 3600.0

    @field_validator("model")
    @classmethod
    def _without_prefix(cls, model: str) -> str:
        return model.removeprefix(LOCAL)

    def parameters(self) -> Mapping[str, Any]:
        """Return the model, its floating-point type and the task.

        A folder is identified by its files, a hub name by itself, as its commit is unknown until
        it is downloaded.
        """
        return {
            "model": name_identity(self.model, self.home),
            "dtype": self.options.dtype,
            "task": self.task.parameters(),
        }

    def files(self) -> tuple[Path, ...]:
        """Return the files of the task."""
        return self.task.files()
