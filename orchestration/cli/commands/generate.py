"""`scoreline generate`: write test sets for a person to review."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from evaluators.components.test_sets.kinds import KINDS, REWRITE_KINDS
from evaluators.components.test_sets.perturbations import DISTRACTORS, PERTURBATIONS
from orchestration.cli.options import config_option, require_known, settings_option
from orchestration.cli.output import echo
from orchestration.cli.program import debug_option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from assets.judging.test_sets.judge import JudgeSession
    from assets.judging.test_sets.result import GeneratedRows
    from assets.project import Project
    from orchestration.config.load import Settings
    from warehouse.formats.test_sets import Reading

Command = TypeVar("Command", bound="Callable[..., None]")
K = TypeVar("K", bound=str)


def output_options(command: Command) -> Command:
    """Add `--seed`, `--out` and `--force` to a command."""
    for option in (
        click.option("--force", is_flag=True, help="Overwrite FILE if it has other contents."),
        click.option(
            "--out",
            type=click.Path(path_type=Path, dir_okay=False),
            required=True,
            metavar="FILE",
            help="The file to write, with the suffix .jsonl.",
        ),
        click.option(
            "--seed",
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            metavar="S",
            help="The same seed and files give the same output.",
        ),
    ):
        command = option(command)
    return command


benchmark_option = click.option(
    "--benchmark",
    metavar="NAME",
    help="The benchmark whose format and `columns` count for its files, if several read them.",
)


@click.group("generate")
def command() -> None:
    """Write test sets in the canonical format, for a person to review."""


@command.command(
    "questions",
    epilog="""\b
Examples:
  scoreline generate questions --documents 'data/corpus/*.json' --n 200 --out data/questions.jsonl
  scoreline generate questions --documents data/documents.jsonl --n 30 --kinds multi_hop \\
      --seed 7 --out data/multi-hop-questions.jsonl""",
)
@click.option(
    "--documents",
    required=True,
    metavar="GLOB",
    help="The documents, canonical or as a benchmark reads them; * in a pattern for several files.",
)
@benchmark_option
@click.option(
    "--n", "n", type=click.IntRange(min=1), required=True, metavar="N", help="How many questions."
)
@click.option(
    "--kinds",
    metavar="KINDS",
    default=",".join(KINDS),
    show_default=True,
    help="The kinds of questions, separated by commas.",
)
@output_options
@settings_option
def questions(
    documents: str,
    benchmark: str | None,
    n: int,
    kinds: str,
    seed: int,
    out: Path,
    force: bool,  # noqa: FBT001 - a flag
    settings: Settings,
) -> None:
    """Write questions about documents, with expected answers and gold sentences.

    The judge model of the configuration proposes each question about one sentence of a document. A
    second pass, which sees the document and the question only, must answer it from the same
    sentences. `simple` questions need one sentence, `multi_hop` questions two to four, none of
    which can be left out, and the document does not answer `unanswerable` ones.

    Rejected proposals go to NAME.rejected.jsonl beside FILE, each with its reason. Replies are kept
    in the ledger: the same command again costs nothing, and a larger --n asks only for what is
    missing. The exit code is 1 if the judge gave no reply on some proposals, or if no question was
    accepted.
    """
    chosen = parse_kinds(kinds, KINDS)
    require_writable(out)

    from assets.judging.test_sets.judge import require_judge
    from assets.judging.test_sets.questions import generate_questions
    from warehouse.formats.paths import expand
    from warehouse.formats.test_sets import load_documents

    require_other_file(out, [path for path, _ in expand(documents)])
    require_judge(settings.project)
    loaded = load_documents(documents, readings_of(settings, benchmark, "documents"))

    def generate(session: JudgeSession) -> GeneratedRows:
        return generate_questions(session, loaded, chosen, n=n, seed=seed)

    made = write_judged(settings.project, out, generate, force=force)
    counts = Counter(row["tags"]["kind"] for row in made.rows)
    listed = ", ".join(f"{counts[kind]:,} {kind}" for kind in chosen)
    report(made, out, f"{len(made.rows):,} questions: {listed}")


@command.command(
    "perturbations",
    epilog="""\b
Examples:
  scoreline generate perturbations --questions data/questions.jsonl --out data/variants.jsonl
  scoreline generate perturbations --questions data/questions.jsonl --kinds typos,case \\
      --seed 7 --out data/variants.jsonl
  scoreline generate perturbations --questions data/questions.jsonl \\
      --kinds paraphrase,language --language German --out data/variants.jsonl""",
)
@click.option(
    "--questions",
    required=True,
    metavar="FILE",
    help="The questions, canonical or as a benchmark reads them; * in a pattern for several files.",
)
@benchmark_option
@click.option(
    "--kinds",
    metavar="KINDS",
    default=",".join(PERTURBATIONS),
    show_default=True,
    help="The kinds, separated by commas: those of the default, paraphrase and language.",
)
@click.option(
    "--language",
    metavar="NAME",
    help="The language to translate into, such as German; for the kind `language`.",
)
@click.option(
    "--distractors",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A text file with a sentence on each line, for `distractor` instead of English ones.",
)
@output_options
@config_option
@debug_option
def perturbations(  # noqa: PLR0913, PLR0917 - an argument for each option
    questions: str,
    benchmark: str | None,
    kinds: str,
    language: str | None,
    distractors: Path | None,
    seed: int,
    out: Path,
    force: bool,  # noqa: FBT001 - a flag
    config: Path,
) -> None:
    """Write variants of questions that a system should answer in the same way.

    `typos` misspells words, `case` writes all letters in upper or lower case, `punctuation` leaves
    out sentence marks, `whitespace` adds spaces, and `distractor` adds a sentence that has nothing
    to do with the question. They need no configuration.

    `paraphrase` (other words) and `language` (a translation) are written by the judge model of the
    configuration, which also checks that the question stays the same. Rejected ones go to
    NAME.rejected.jsonl beside FILE. Replies are kept in the ledger.

    A variant has the fields of its question, an id of its own, and the fields `perturbs` and
    `perturbation`. Add the file to the questions of a benchmark, and let your systems answer it:
    the view `v_flips` lists the variants that a system fails although it passes the original, or
    the other way round.
    """
    chosen = parse_kinds(kinds, (*PERTURBATIONS, *REWRITE_KINDS))
    plain = [kind for kind in chosen if kind in PERTURBATIONS]
    rewrites = [kind for kind in REWRITE_KINDS if kind in chosen]
    if ("language" in chosen) != (language is not None):
        raise click.UsageError("the kind 'language' and --language NAME need each other")
    require_writable(out)

    from assets.judging.test_sets.perturbations import perturb_questions
    from assets.judging.test_sets.rewrites import rewrite_questions
    from orchestration.config import load
    from warehouse.formats.paths import expand
    from warehouse.formats.test_sets import load_questions, write_rows

    require_other_file(out, [path for path, _ in expand(questions)])
    sentences = DISTRACTORS if distractors is None else _read_sentences(distractors)
    settings = load.load_config(config) if rewrites or config.is_file() else None
    loaded = load_questions(questions, readings_of(settings, benchmark, "questions"))
    made = perturb_questions(loaded, plain, seed=seed, distractors=sentences)
    if settings is not None and rewrites:

        def generate(session: JudgeSession) -> GeneratedRows:
            rewritten = rewrite_questions(session, loaded, rewrites, language=language, seed=seed)
            return made.merged_with(rewritten, loaded, chosen)

        made = write_judged(settings.project, out, generate, force=force)
    else:
        write_rows({out: made.rows}, force=force)
    report(made, out, f"{count_variants(made, chosen)} of {len(loaded):,} questions")


def readings_of(
    settings: Settings | None, benchmark: str | None, kind: Literal["questions", "documents"]
) -> dict[Path, Reading[Any]]:
    """Return how benchmarks, or one of them, read their files; nothing without a configuration."""
    from assets.judging.test_sets.inputs import find_readings

    if settings is None:
        if benchmark is not None:
            raise click.UsageError("--benchmark: there is no configuration file")
        return {}
    known = settings.project.benchmarks
    if benchmark is not None:
        require_known("benchmark", (benchmark,), list(known))
    return find_readings([each for n, each in known.items() if benchmark in (None, n)], kind)


def write_judged(
    project: Project, out: Path, generate: Callable[[JudgeSession], GeneratedRows], *, force: bool
) -> GeneratedRows:
    """Generate rows with the judge and write them, and the rejected ones to a file beside it.

    If FILE exists, the ledger must hold all replies, and they must give the same contents: nothing
    is paid for what would not be written.

    Raises:
        FileDiffers: FILE has other contents, and `force` is false.
    """
    from assets.judging.test_sets.judge import judge_session
    from orchestration.runs.progress import show_progress
    from warehouse.errors import FileDiffers
    from warehouse.formats.test_sets import write_rows

    if not force and (exists := [str(path) for path in (out, rejected_file(out)) if path.exists()]):
        with judge_session(project, only_stored=True) as session:
            made = generate(session)
        if made.unanswered:
            raise FileDiffers(exists)
    else:
        with show_progress(quiet=False, lines=True) as progress:
            progress.describe("asking the judge")
            with judge_session(project) as session:
                made = generate(session)
    made.calls = session.counts
    write_rows({out: made.rows, rejected_file(out): made.rejected}, force=force)
    return made


def report(made: GeneratedRows, out: Path, summary: str) -> None:
    """Write the path of the file to standard output, and what happened to standard error.

    Raises:
        ChecksFailed: The judge gave no reply to some requests, or nothing was accepted.
    """
    from orchestration.cli.finished_run import describe_calls
    from orchestration.cli.output import say
    from orchestration.errors import ChecksFailed

    say(summary, err=True)
    if made.rejected:
        say(f"{len(made.rejected):,} rejected, with reasons: {rejected_file(out)}", err=True)
    for note in made.notes:
        say(f"note: {note}", err=True)
    if made.calls is not None:
        say(describe_calls(made.calls), err=True)
        if made.calls.over_budget:
            say(f"note: calls over the budget: {made.calls.over_budget:,}, not made", err=True)
    if made.rows:
        echo(out)
    if made.unanswered:
        raise ChecksFailed(
            f"the judge gave no reply on {made.unanswered:,} of them; the reasons are in "
            f"{rejected_file(out)}. The same command with --force asks again"
        )
    if not made.rows:
        why = f"all proposals were rejected; the reasons are in {rejected_file(out)}"
        raise ChecksFailed(
            f"{out} was not written: {why if made.rejected else 'there was nothing to propose'}"
        )


def count_variants(made: GeneratedRows, kinds: Sequence[str]) -> str:
    """Return the number of variants of each kind in words."""
    counts = Counter(row["perturbation"] for row in made.rows)
    listed = ", ".join(f"{counts[kind]:,} {kind}" for kind in kinds)
    return f"{len(made.rows):,} variants ({listed})"


def rejected_file(out: Path) -> Path:
    """Return the file of rejected rows: `a.rejected.jsonl` for `a.jsonl`."""
    return out.with_name(f"{out.stem}.rejected{out.suffix}")


def parse_kinds(given: str, known: Iterable[K]) -> tuple[K, ...]:
    """Return the kinds of a list with commas, without repetitions.

    Raises:
        UsageError: There is no such kind, or none is given; suggests a similar name.
    """
    from records.similar_names import did_you_mean

    kinds = {str(kind): kind for kind in known}
    names = tuple(dict.fromkeys(name.strip() for name in given.split(",") if name.strip()))
    for name in names:
        if name not in kinds:
            hint = did_you_mean(name, kinds) or f"; known: {', '.join(kinds)}"
            raise click.UsageError(f"--kinds: there is no kind {name!r}{hint}")
    if not names:
        raise click.UsageError(f"--kinds: expected one or more of {', '.join(kinds)}")
    return tuple(kinds[name] for name in names)


def require_writable(out: Path) -> None:
    """Check the suffix of the file to write.

    Raises:
        UsageError: It is not that of JSON Lines.
    """
    from warehouse.formats.test_sets import SUFFIXES

    if out.suffix.lower() not in SUFFIXES:
        raise click.UsageError(
            f"--out: expected a file with the suffix {' or '.join(SUFFIXES)}, got {str(out)!r}"
        )


def require_other_file(out: Path, inputs: Sequence[Path]) -> None:
    """Check that the file to write is none of those that are read.

    Raises:
        UsageError: It is one of them.
    """
    if out.resolve() in {path.resolve() for path in inputs}:
        raise click.UsageError(f"--out: {str(out)!r} is one of the files that are read")


def _read_sentences(file: Path) -> list[str]:
    """Return the lines of a text file that are not blank.

    Raises:
        UsageError: There are none, or the file is not text in UTF-8.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise click.UsageError(f"--distractors: {str(file)!r} is not UTF-8") from error
    sentences = [line.strip() for line in lines if line.strip()]
    if not sentences:
        raise click.UsageError(f"--distractors: {str(file)!r} holds no sentences")
    return sentences
