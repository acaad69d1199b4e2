"""The configuration of a project: `scoreline.yaml` read, checked and turned into a Project."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from pydantic import ValidationError

from assets.project import (
    Automation,
    Benchmark,
    Project,
    UnknownMetric,
    select_metrics,
)
from evaluators.errors import nearest
from orchestration.config.engines import Identities, answering
from orchestration.config.error_messages import faults_of
from orchestration.config.evaluators import Selection
from orchestration.config.expectations import Expected
from orchestration.config.schema import BenchmarkKeys, ProjectKeys
from orchestration.config.yaml_document import Document, read_document
from orchestration.errors import Fault, NoSettings, SettingsError
from warehouse.errors import WarehouseError
from warehouse.formats.catalog import formats
from warehouse.storage.location import Location, location_from_config

if TYPE_CHECKING:
    from orchestration.config.engine_schema import Judge, Models

DEFAULT_FILE = Path("scoreline.yaml")
VALIDATION_VARIABLE = "SCORELINE_EXPECTATIONS"
"""Set to `sql`, it leaves Great Expectations out of the runs of a shell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that one configuration file says.

    Attributes:
        file: The absolute path of the configuration file.
        project: The pipeline's part of it.
        judge: The judge model, if one is configured. Its key is not here: `api_key_env` names the
            environment variable that holds it.
        models: The models of the other engines.
    """

    file: Path
    project: Project
    judge: Judge | None
    models: Models


def read(file: Path) -> Settings:
    """Reads and checks a configuration file.

    Nothing but the file itself is looked at: that the data files exist is found out by the run and
    by `scoreline doctor`. Environment variables in values are not expanded.

    Raises:
        NoSettings: There is no such file.
        SettingsError: Something is wrong in it; all that is wrong is named, with its line.
    """
    if not file.is_file():
        what = "is a folder, not a file" if file.is_dir() else "does not exist"
        raise NoSettings(
            f"the configuration file {str(file)!r} {what}; `scoreline init` writes one, "
            "`--config FILE` names another"
        )
    try:
        document = read_document(file)
    except OSError as error:
        raise NoSettings(f"cannot read {str(file)!r}: {error.strerror}") from error
    if document.content is None:
        raise SettingsError(file, [Fault(1, "the file is empty; `scoreline init` writes one")])
    try:
        keys = ProjectKeys.model_validate(document.content)
    except ValidationError as error:
        raise SettingsError(file, faults_of(error, document, ProjectKeys)) from None
    return _Resolution(document, keys).settings()


def _validation(keys: ProjectKeys) -> Literal["full", "sql"]:
    """How tables are validated; the environment may say it in place of the file."""
    said = os.environ.get(VALIDATION_VARIABLE)
    if said is None:
        return keys.expectations
    if said not in ("full", "sql"):
        raise NoSettings(f"{VALIDATION_VARIABLE} is {said!r}, expected 'full' or 'sql'")
    return "full" if said == "full" else "sql"


def _automation(keys: ProjectKeys) -> Automation:
    """Return the automation, whose daily budget is the judge's unless given."""
    budget = keys.automation.daily_budget_usd
    if budget is None and keys.judge is not None:
        budget = keys.judge.budget_usd
    return keys.automation.model_copy(update={"daily_budget_usd": budget})


class _Resolution:
    """Turns checked keys into values; collects what does not fit together."""

    def __init__(self, document: Document, keys: ProjectKeys) -> None:
        self.document = document
        self.keys = keys
        self.home = document.file.absolute().parent
        self.faults: list[Fault] = []
        self.place = self.warehouse()
        self.engines = answering(keys.judge, keys.models, self.home, self.place)
        self.identities = Identities(keys.judge, self.home, self.engines)

    def settings(self) -> Settings:
        warehouse = self.place
        publish = self.path(self.keys.publish)
        if publish / "scoreline.duckdb" == warehouse:
            self.fault(
                f"the published copy would overwrite the warehouse {str(warehouse)!r}: "
                "choose another folder or another warehouse file",
                "publish",
            )
        self.check_execution()
        benchmarks = {
            name: self.benchmark(name, keys) for name, keys in self.keys.benchmarks.items()
        }
        if self.faults:
            raise SettingsError(self.document.file, self.faults)
        project = Project(
            home=self.home,
            warehouse=warehouse,
            publish=publish,
            benchmarks=MappingProxyType(benchmarks),
            engines=self.engines,
            validation=_validation(self.keys),
            drift=self.keys.drift,
            automation=_automation(self.keys),
            alerts=self.keys.alerts,
            execution=self.keys.execution,
        )
        return Settings(
            file=self.document.file.absolute(),
            project=project,
            judge=self.keys.judge,
            models=self.keys.models,
        )

    def fault(self, message: str, *path: str | int) -> None:
        self.faults.append(Fault(self.document.line(path), message))

    def path(self, text: str) -> Path:
        return self.home / Path(text).expanduser()

    def optional_path(self, text: str | None) -> Path | None:
        return None if text is None else self.path(text)

    def warehouse(self) -> Location:
        keys = self.keys.warehouse
        try:
            return location_from_config(
                self.home,
                keys.catalog,
                data_path=keys.data_path,
                schema=keys.catalog_schema,
                password_env=keys.password_env,
            )
        except WarehouseError as error:
            self.fault(str(error), "warehouse")
            return self.home / ".scoreline" / "warehouse.duckdb"

    def check_execution(self) -> None:
        given = self.keys.execution
        if given.executor == "celery" and find_spec("dagster_celery") is None:
            self.fault(
                "the executor 'celery' is not installed: pip install 'scoreline[cluster]'",
                "execution",
                "executor",
            )
        if given.max_concurrent is not None and given.executor != "multiprocess":
            self.fault(
                "only the executor 'multiprocess' has a number of processes; workers are counted "
                "by `scoreline worker --concurrency`",
                "execution",
                "max_concurrent",
            )

    def benchmark(self, name: str, keys: BenchmarkKeys) -> Benchmark:
        where = ("benchmarks", name)
        self.check_format(keys, where)
        evaluators = Selection(self.fault, self.identities).of(keys, where)
        expectations = Expected(self.fault).of(keys, evaluators, where)
        benchmark = Benchmark(
            name=name,
            format=keys.format,
            questions=self.optional_path(keys.questions),
            predictions=self.path(keys.predictions),
            documents=self.optional_path(keys.documents),
            evaluators=evaluators,
            slices=tuple(dict.fromkeys(keys.slices)),
            cluster=keys.cluster,
            thresholds=MappingProxyType(dict(keys.thresholds)),
            intervals=keys.intervals,
            gates=tuple(keys.gates),
            max_reject_ratio=keys.max_reject_ratio,
            expectations=expectations,
        )
        self.check_gates(benchmark, where)
        return benchmark

    def check_gates(self, benchmark: Benchmark, where: tuple[str, str]) -> None:
        for at, gate in enumerate(benchmark.gates if benchmark.evaluators else ()):
            try:
                select_metrics(benchmark, gate.metrics)
            except UnknownMetric as error:
                self.fault(str(error), *where, "gates", at, "metrics")

    def check_format(self, keys: BenchmarkKeys, where: tuple[str, str]) -> None:
        known = formats()
        form = known.get(keys.format)
        if form is None:
            self.fault(
                f"unknown format {keys.format!r}{nearest(keys.format, known)}: "
                f"expected one of {', '.join(known)}",
                *where,
                "format",
            )
            return
        own_files = form.questions_from != "predictions"
        if own_files and keys.questions is None:
            self.fault(
                f"the key 'questions' is missing in {'.'.join(where)}: "
                f"the format {form.name!r} needs files of questions",
                *where,
            )
        if not own_files and keys.questions is not None:
            self.fault(
                f"the format {form.name!r} has no files of questions: they come with the "
                "predictions; leave this key out",
                *where,
                "questions",
            )
        if keys.documents is not None and not (own_files and form.documents is not None):
            self.fault(
                f"the format {form.name!r} has no files of documents: leave this key out",
                *where,
                "documents",
            )
