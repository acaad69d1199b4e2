"""Hugging Face datasets on disk: folders of Arrow or Parquet files, by split."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from records.document import Document
from records.prediction import Prediction
from records.question import Question
from warehouse.errors import InputError, Problem, suggest_name
from warehouse.formats.canonical import read_records
from warehouse.formats.format import SHOWN, Folders, Format, Reject
from warehouse.formats.readers.parquet import (
    MAX_BATCH_ROWS,
    batch_rows,
    parquet_rows,
    schema_fault,
)
from warehouse.formats.readers.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    from warehouse.formats.format import Read, Source

SPLITS: Final = "dataset_dict.json"
STATE: Final = "state.json"
SHARD: Final = re.compile(r"(?P<split>.+?)-(?P<at>\d{5})-of-(?P<count>\d{5})(-[0-9a-f]+)?")
"""The name of a Parquet file on the hub, without its suffix."""

MAX_NAMED: Final = 10
"""The number of missing files that a message names."""

Labels = dict[str, list[str]]
"""The names of classes by column."""


def files_of(folder: Path, split: str | None) -> list[Path]:
    """Return the files of a split of a dataset.

    The folder is one that `save_to_disk` wrote, or has Parquet files named as on the hub
    (`test-00000-of-00001.parquet`, `test.parquet` or `test/0000.parquet`), possibly in `data`.

    Raises:
        InputError: The folder holds no dataset, not this split, or not all of its files.
    """
    if (folder / SPLITS).is_file():
        names = _read_json(folder / SPLITS).get("splits")
        known = [each for each in names if _is_name(each)] if isinstance(names, list) else []
        return _saved_files(folder / _chosen(folder, split, known))
    if (folder / STATE).is_file():
        own = _read_json(folder / STATE).get("_split")
        if split is not None and own is not None and own != split:
            message = f"the folder holds the split {own!r}, expected {split!r}"
            raise InputError([Problem(folder, None, message)])
        return _saved_files(folder)
    by_split = _parquet_files(folder)
    if not by_split:
        message = f"expected {SPLITS} or {STATE}, as `save_to_disk` writes them, or Parquet files"
        raise InputError([Problem(folder, None, message)])
    files = by_split[_chosen(folder, split, list(by_split))]
    _require_every_shard(files)
    return files


def _chosen(folder: Path, split: str | None, known: list[str]) -> str:
    if split in known:
        return split
    if split is None and len(known) == 1:
        return known[0]
    if split is None:
        listed = ", ".join(repr(each) for each in known) or "none"
        message = f"expected the key `split`, one of {listed}"
    else:
        message = f"there is no split {split!r}{suggest_name(split, known)}"
    raise InputError([Problem(folder, None, message)])


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value not in {"", ".", ".."} and not set(value) & {"/", "\\"}


def _saved_files(folder: Path) -> list[Path]:
    """Return the Arrow files that the state of a saved dataset lists."""
    listed = _read_json(folder / STATE).get("_data_files")
    names = [str(each.get("filename")) for each in listed or [] if isinstance(each, dict)]
    if not names or not all(map(_is_name, names)):
        message = "expected `_data_files` with the names of files in this folder"
        raise InputError([Problem(folder / STATE, None, message)])
    files = [folder / name for name in names]
    missing = [Problem(file, None, "the file is missing") for file in files if not file.is_file()]
    if missing:
        raise InputError(missing)
    return files


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError([Problem(path, None, f"cannot be read: {error}")]) from error
    if not isinstance(found, dict):
        raise InputError([Problem(path, None, "expected a JSON object")])
    return found


def _parquet_files(folder: Path) -> dict[str, list[Path]]:
    """Return the Parquet files of a folder by split, in order."""
    by_split: dict[str, list[Path]] = {}
    for path in sorted([*folder.glob("*.parquet"), *folder.glob("*/*.parquet")]):
        shard = SHARD.fullmatch(path.stem)
        if shard is not None:
            split = shard["split"]
        else:
            is_nested = path.parent not in {folder, folder / "data"}
            split = path.parent.name if is_nested else path.stem
        by_split.setdefault(split, []).append(path)
    return by_split


def _require_every_shard(files: list[Path]) -> None:
    """Check that the numbers in the names of a split's files are complete, each once.

    Raises:
        InputError: They are not, the names tell different counts, or files are in several folders.
    """
    shards = {path: shard for path in files if (shard := SHARD.fullmatch(path.stem)) is not None}
    if not shards:
        return
    counts = sorted({int(shard["count"]) for shard in shards.values()})
    numbers = sorted(int(shard["at"]) for shard in shards.values())
    folders = sorted({str(path.parent) for path in shards})
    if len(folders) > 1:
        message = f"expected the files of a split in one folder, found {', '.join(folders)}"
    elif len(counts) > 1:
        message = f"expected one count of files in their names, found {_listed(counts)}"
    elif numbers != list(range(counts[0])):
        message = f"expected {counts[0]} files of this split, found {len(numbers)}"
        if missing := sorted(set(range(counts[0])) - set(numbers)):
            message += f"; missing: {_listed([f'{number:05}' for number in missing])}"
    else:
        return
    raise InputError([Problem(next(iter(shards)), None, message)])


def _listed(values: Sequence[object]) -> str:
    named = ", ".join(map(str, values[:MAX_NAMED]))
    return named + (f" and {len(values) - MAX_NAMED} more" if len(values) > MAX_NAMED else "")


def read_questions(source: Source) -> Iterator[Read[Question] | Reject]:
    """Read questions from rows with the canonical field names."""
    return read_records(Question, source, _rows(source.path))


def read_predictions(source: Source) -> Iterator[Read[Prediction] | Reject]:
    """Read predictions from rows with the canonical field names."""
    return read_records(Prediction, source, _rows(source.path))


def read_documents(source: Source) -> Iterator[Read[Document] | Reject]:
    """Read documents from rows with the canonical field names."""
    return read_records(Document, source, _rows(source.path))


def _rows(path: Path) -> Iterator[Row | Reject]:
    is_parquet = path.suffix == ".parquet"
    labels = _labels(path, _schema(path))
    for each in parquet_rows(path) if is_parquet else _arrow_rows(path):
        if isinstance(each, Reject):
            yield each
            continue
        fields, number = each
        reason = _name_classes(fields, labels)
        if reason is not None:
            yield Reject(number, reason, str(fields)[:SHOWN])
        else:
            yield Row(fields, number, str(fields)[:SHOWN])


def _schema(path: Path) -> pa.Schema:
    """Return the columns of a file.

    Raises:
        InputError: The file is damaged, or has columns that cannot be read.
    """
    import pyarrow as pa
    from pyarrow.parquet import read_schema

    try:
        if path.suffix == ".parquet":
            schema = read_schema(path)
        else:
            with _opened(path) as reader:
                schema = reader.schema
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _damaged(path, error) from error
    reason = schema_fault(schema)
    if reason is not None:
        raise InputError([Problem(path, None, reason)])
    binary = [field.name for field in schema if _is_binary(field.type)]
    if binary:
        columns = ", ".join(repr(name) for name in binary)
        message = (
            f"{columns}: images, audio and other binary data are not read; write the dataset "
            f"without them, as `remove_columns({binary})` does"
        )
        raise InputError([Problem(path, None, message)])
    return schema


def _is_binary(type_: pa.DataType) -> bool:
    import pyarrow as pa

    types = pa.types
    if types.is_binary(type_) or types.is_large_binary(type_) or types.is_fixed_size_binary(type_):
        return True
    return any(_is_binary(type_.field(at).type) for at in range(type_.num_fields))


def _labels(path: Path, schema: pa.Schema) -> Labels:
    """Return the names of the classes of columns that hold classes, or lists of them."""
    given = (schema.metadata or {}).get(b"huggingface")
    if given is None:
        return {}
    try:
        features = json.loads(given)["info"]["features"]
        return {
            name: list(one["names"])
            for name, feature in features.items()
            if isinstance(feature, dict)
            for one in (feature, feature.get("feature"))
            if isinstance(one, dict) and one.get("_type") == "ClassLabel"
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = "expected the features of a dataset in the metadata of the file"
        raise InputError([Problem(path, None, message)]) from error


def _name_classes(fields: dict[str, Any], labels: Mapping[str, list[str]]) -> str | None:
    """Replace numbers of classes by their names; return the reason if there is no such class."""
    for name, names in labels.items():
        value = fields.get(name)
        numbers = value if isinstance(value, list) else [value]
        for number in numbers:
            # As in `datasets`, -1 stands for an unknown class.
            if number is not None and not -1 <= number < len(names):
                return f"{name}: expected one of {len(names)} classes, found the number {number}"
        named = [None if number in {None, -1} else names[number] for number in numbers]
        if name in fields:
            fields[name] = named if isinstance(value, list) else named[0]
    return None


def _opened(path: Path) -> pa.RecordBatchStreamReader:
    import pyarrow as pa

    return pa.ipc.open_stream(pa.memory_map(str(path)))


def _arrow_rows(path: Path) -> Iterator[tuple[dict[str, Any], int] | Reject]:
    """Yield the rows of an Arrow stream and their numbers, from 1."""
    import pyarrow as pa

    number = 0
    try:
        with _opened(path) as reader:
            for batch in reader:
                batch.validate()
                for start in range(0, batch.num_rows, MAX_BATCH_ROWS):
                    part = batch.slice(start, MAX_BATCH_ROWS)
                    yield from batch_rows(part, number)
                    number += part.num_rows
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: BaseException) -> InputError:
    cause = str(error).partition("\n")[0].rstrip(" .")
    return InputError([Problem(path, None, f"not a dataset file, or damaged: {cause}")])


FORMAT: Final = Format(
    name="huggingface",
    summary="Hugging Face datasets on disk, Arrow or Parquet, with Scoreline's own field names.",
    questions=read_questions,
    predictions=read_predictions,
    documents=read_documents,
    has_columns=True,
    version=3,
    folders=Folders(questions=files_of, documents=files_of, predictions=files_of),
)
