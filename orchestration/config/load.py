"""Load `scoreline.yaml`: read it, validate it and build the project."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, cast

from pydantic import ValidationError

from assets.analysis.statements import count_statements
from assets.project import (
    Automation,
    Benchmark,
    Project,
    expand_systems,
)
from calls.file_system import special_file
from evaluators.catalog import catalogue, families
from evaluators.errors import EvaluatorError
from evaluators.kinds.own import installed, load
from orchestration.config.columns import build_columns, build_missing
from orchestration.config.engines import EngineIdentities, build_engines, model_options
from orchestration.config.error_messages import describe_unknown, validation_faults
from orchestration.config.evaluators import ONLY_SYSTEMS, EvaluatorBuilder
from orchestration.config.expectations import ExpectationBuilder
from orchestration.config.gates import GateBuilder, NamedSystem, require_systems
from orchestration.config.schema import BenchmarkKeys, Models, ProjectKeys, QueryKeys
from orchestration.config.systems import SystemBuilder
from orchestration.config.tasks import build_expansion
from orchestration.config.yaml_document import Document, read_document
from orchestration.errors import Fault, OrchestrationError, SettingsError, SettingsNotFound
from orchestration.runs.progress import show_answers
from warehouse.errors import WarehouseError
from warehouse.formats.catalog import formats
from warehouse.formats.query import Query, locate_database
from warehouse.storage.location import Location, location_from_config

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evaluators.evaluator import Evaluator
    from orchestration.config.judge.schema import Judge
    from systems.settings import SystemSettings
    from warehouse.formats.query import InputFile

DEFAULT_FILE = Path("scoreline.yaml")
VALIDATION_VARIABLE = "SCORELINE_EXPECTATIONS"
"""The environment variable that overrides the key `expectations`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The content of one configuration file.

    Attributes:
        file: The absolute path of the configuration file.
        project: What the pipeline needs of it.
        judge: The keys of the judge model, if one is configured.
        models: The keys of the models of the other engines.
        plugins: The files and modules with evaluators.
        named_systems: The systems that gates and `missing` name.
    """

    file: Path
    project: Project
    judge: Judge | None
    models: Models
    plugins: tuple[str, ...] = ()
    named_systems: tuple[NamedSystem, ...] = ()

    def require_systems_exist(self, benchmarks: Iterable[str]) -> None:
        """Check that the systems of gates and `missing` exist, as far as names of files show it.

        Raises:
            SettingsError: There is no such system.
        """
        require_systems(self.file, self.project, self.named_systems, benchmarks)


def load_config(file: Path) -> Settings:
    """Read and validate a configuration file.

    Only the file itself is checked: the run and `scoreline doctor` check that data files exist.
    Environment variables in values are not expanded.

    Raises:
        SettingsNotFound: There is no such file, or it cannot be read.
        SettingsError: The file has faults; the error lists all of them with their lines.
    """
    if not file.is_file():
        kind = special_file(file)
        what = "does not exist" if kind is None else f"is {kind}, not a file"
        raise SettingsNotFound(
            f"the configuration file {str(file)!r} {what}; `scoreline init` writes one, "
            "`--config FILE` names another"
        )
    try:
        document = read_document(file)
    except OSError as error:
        raise SettingsNotFound(f"cannot read {str(file)!r}: {error.strerror}") from error
    if document.content is None:
        raise SettingsError(file, [Fault(1, "the file is empty; `scoreline init` writes one")])
    return build_settings(document)


def build_settings(
    document: Document, own: Mapping[str, type[Evaluator] | Evaluator] = MappingProxyType({})
) -> Settings:
    """Validate the content of a configuration.

    Args:
        document: The content, as of a file in the folder to which paths are relative.
        own: Evaluators that its benchmarks may name, beside those of the catalogue and of its
            plugins.

    Raises:
        SettingsError: The content has faults; the error lists all of them.
    """
    try:
        keys = ProjectKeys.model_validate(document.content)
    except ValidationError as error:
        faults = validation_faults(error, document, ProjectKeys)
        raise SettingsError(document.file, faults) from None
    return _ProjectBuilder(document, keys, own).build()


def _validation(keys: ProjectKeys) -> Literal["full", "sql"]:
    """Return how tables are validated; the environment overrides the file."""
    value = os.environ.get(VALIDATION_VARIABLE, keys.expectations)
    if value not in ("full", "sql"):
        raise OrchestrationError(f"{VALIDATION_VARIABLE} is {value!r}, expected 'full' or 'sql'")
    return cast("Literal['full', 'sql']", value)


def _automation(keys: ProjectKeys) -> Automation:
    """Return the automation, whose daily budget is the judge's unless given."""
    budget = keys.automation.daily_budget_usd
    if budget is None and keys.judge is not None:
        budget = keys.judge.budget_usd
    return keys.automation.model_copy(update={"daily_budget_usd": budget})


class _ProjectBuilder:
    """Builds the project from validated keys; collects the faults in their combinations."""

    def __init__(
        self,
        document: Document,
        keys: ProjectKeys,
        own: Mapping[str, type[Evaluator] | Evaluator],
    ) -> None:
        self.document = document
        self.keys = keys
        self.home = document.file.absolute().parent
        self.faults: list[Fault] = []
        self.own = {**self.load_plugins(), **own}
        self.warehouse = self.locate_warehouse()
        self.engines = build_engines(keys.judge, keys.models, self.home, self.warehouse)
        self.gates = GateBuilder(self.report, document, keys)
        self.named: list[NamedSystem] = []
        self.systems: dict[str, SystemSettings] = {}
        self.system_builder = SystemBuilder(self.report, self.home, model_options(keys.models))
        self.identities = EngineIdentities(keys.judge, self.home, self.engines)

    def build(self) -> Settings:
        publish = self.resolve(self.keys.publish)
        if publish / "scoreline.duckdb" == self.warehouse:
            self.report(
                f"the published copy would overwrite the warehouse {str(self.warehouse)!r}: "
                "choose another folder or another warehouse file",
                "publish",
            )
        self.check_execution()
        self.systems = self.system_builder.build(self.keys.systems)
        benchmarks = {
            name: self.build_benchmark(name, keys) for name, keys in self.keys.benchmarks.items()
        }
        for at, name in enumerate(self.keys.default_benchmarks):
            if name not in benchmarks:
                message = describe_unknown(f"benchmark {name!r}", name, benchmarks)
                self.report(message, "default_benchmarks", at)
        if self.faults:
            raise SettingsError(self.document.file, self.faults)
        has_history = self.keys.history.publications > 0
        benchmarks = count_statements(benchmarks, has_history=has_history)
        project = Project(
            home=self.home,
            warehouse=self.warehouse,
            publish=publish,
            report_url=self.keys.report_url,
            memory_limit=self.keys.memory_limit,
            benchmarks=MappingProxyType(benchmarks),
            default_benchmarks=tuple(dict.fromkeys(self.keys.default_benchmarks)),
            systems=MappingProxyType(self.systems),
            members=MappingProxyType(self.system_builder.members),
            show_answers=show_answers,
            engines=self.engines,
            validation=_validation(self.keys),
            drift=self.keys.drift,
            history=self.keys.history,
            automation=_automation(self.keys),
            alerts=self.keys.alerts,
            execution=self.keys.execution,
        )
        return Settings(
            file=self.document.file.absolute(),
            project=project,
            judge=self.keys.judge,
            models=self.keys.models,
            plugins=tuple(self.keys.plugins),
            named_systems=(*self.gates.named, *self.named),
        )

    def report(self, message: str, *path: str | int) -> None:
        self.faults.append(Fault(self.document.line(path), message))

    def resolve(self, path: str) -> Path:
        return self.home / Path(path).expanduser()

    def resolve_optional(self, given: str | QueryKeys | None, *path: str) -> InputFile | None:
        return None if given is None else self.resolve_input(given, *path)

    def resolve_input(self, given: str | QueryKeys, *path: str) -> InputFile:
        if not isinstance(given, QueryKeys):
            return self.resolve(given)
        file, line = self.document.file, self.document.line(path)
        try:
            database = locate_database(self.home, given.database, given.password_env)
        except WarehouseError as error:
            self.report(f"{'.'.join(path)}: {error}", *path, "database")
            database = self.home
        origin = f"{file}:{line}: {'.'.join(path)}"
        return Query(given.sql, database, origin, given.password_env, self.keys.memory_limit)

    def load_plugins(self) -> Mapping[str, type[Evaluator]]:
        """Load the evaluators of installed packages and of the project's own files."""
        found: dict[str, type[Evaluator]] = {}
        try:
            found |= installed()
        except EvaluatorError as error:
            self.report(str(error))
        for at, plugin in enumerate(self.keys.plugins):
            try:
                loaded = load(plugin, self.home)
            except EvaluatorError as error:
                self.report(str(error), "plugins", at)
                continue
            for name in loaded:
                if name in found or name in catalogue() or name in families():
                    self.report(f"{plugin!r}: the name {name!r} is taken", "plugins", at)
            found |= loaded
        return found

    def locate_warehouse(self) -> Location:
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
            self.report(str(error), "warehouse")
            return self.home / ".scoreline" / "warehouse.duckdb"

    def check_execution(self) -> None:
        execution = self.keys.execution
        if execution.max_concurrent is not None and execution.executor != "multiprocess":
            message = "only the executor 'multiprocess' has a number of processes"
            self.report(message, "execution", "max_concurrent")

    def build_benchmark(self, name: str, keys: BenchmarkKeys) -> Benchmark:
        path = ("benchmarks", name)
        self.check_format(keys, path)
        systems = self.system_builder.check_benchmark(keys, path)
        members = self.system_builder.members
        builder = EvaluatorBuilder(self.report, self.identities, self.own)
        expand = partial(expand_systems, members=members, asked=systems)
        evaluators = builder.build(keys, path, expand)
        thresholds, default_threshold = builder.resolve_thresholds(keys, evaluators, path)
        builder.check_rank_by(keys, evaluators, path)
        expectations = ExpectationBuilder(self.report).build(keys, evaluators, path)
        missing = build_missing(keys, systems, members)
        if keys.repeats > 1 and not systems:
            message = "only systems that are asked (`systems`) answer several times; files of "
            message += "predictions number their answers by the field `repeat`"
            self.report(message, *path, "repeats")
        for system in missing.systems:
            line = self.document.line((*path, "missing", system))
            self.named.append(NamedSystem(name, system, line, "`missing`"))
        for evaluator in evaluators:
            for system in evaluator.only_systems:
                where = f"`{ONLY_SYSTEMS}` of {evaluator.name!r}"
                line = self.document.line((*path, "parameters", evaluator.name, ONLY_SYSTEMS))
                self.named.append(NamedSystem(name, system, line, where))
        benchmark = Benchmark(
            name=name,
            format=keys.format,
            questions=self.resolve_optional(keys.questions, *path, "questions"),
            predictions=self.resolve_optional(keys.predictions, *path, "predictions"),
            systems=systems,
            repeats=keys.repeats,
            expansion=build_expansion(self.systems, systems, self.report, path),
            documents=self.resolve_optional(keys.documents, *path, "documents"),
            split=keys.split,
            columns=build_columns(self.report, keys, path),
            missing=missing,
            evaluators=evaluators,
            slices=tuple(dict.fromkeys(keys.slices)),
            cluster=keys.cluster,
            thresholds=thresholds,
            default_threshold=default_threshold,
            rank_by=keys.rank_by,
            intervals=keys.intervals,
            max_reject_ratio=keys.max_reject_ratio,
            expectations=expectations,
            deps=tuple(dict.fromkeys(keys.deps)),
        )
        return replace(benchmark, gates=self.gates.build(benchmark, expand))

    def check_format(self, keys: BenchmarkKeys, path: tuple[str, str]) -> None:
        known = formats()
        input_format = known.get(keys.format)
        if input_format is None:
            message = describe_unknown(f"format {keys.format!r}", keys.format, known)
            self.report(message, *path, "format")
            return
        has_question_files = input_format.questions_from != "predictions"
        if has_question_files and keys.questions is None:
            self.report(
                f"the key 'questions' is missing in {'.'.join(path)}: "
                f"the format {input_format.name!r} needs question files",
                *path,
            )
        if not has_question_files and keys.questions is not None:
            self.report(
                f"the format {input_format.name!r} has no question files: the questions come with "
                "the predictions; remove this key",
                *path,
                "questions",
            )
        for key in ("questions", "documents", "predictions"):
            if isinstance(getattr(keys, key), QueryKeys) and not input_format.is_canonical:
                message = f"the format {input_format.name!r} reads files, expected a path"
                self.report(f"{'.'.join(path)}.{key}: {message}", *path, key)
        folders = input_format.folders
        if keys.split is not None and folders is None:
            known_ones = ", ".join(name for name, each in known.items() if each.folders is not None)
            message = f"the format {input_format.name!r} has no splits, only {known_ones}"
            self.report(message, *path, "split")
        if keys.documents is not None and folders is not None and folders.documents_with_questions:
            message = (
                f"the format {input_format.name!r} has its documents in the folder of the "
                "questions: remove this key"
            )
            self.report(message, *path, "documents")
        elif keys.documents is not None and not (
            has_question_files and input_format.documents is not None
        ):
            self.report(
                f"the format {input_format.name!r} has no document files: remove this key",
                *path,
                "documents",
            )
