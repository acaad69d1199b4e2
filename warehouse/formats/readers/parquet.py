"""Reads rows of Parquet files."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Final

from warehouse.errors import InputError, Problem
from warehouse.formats.format import Reject
from warehouse.formats.readers.files import COMPRESSED, content, opened
from warehouse.formats.readers.limits import (
    FREE_EXPANSION,
    LONGEST_ROW,
    MAX_RATIO,
    MAX_VALUES,
    MIB,
    too_long,
    too_many_fields,
)
from warehouse.formats.readers.strict_json import first_repeated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO

    import pyarrow as pa
    from pyarrow.parquet import ColumnChunkMetaData, FileMetaData, ParquetFile

MAX_BATCH_ROWS: Final = 1_000
_BATCH_BYTES: Final = 256 * MIB
_LARGE_DICTIONARY: Final = 2 * MIB
"""Writers limit dictionaries to one MiB. Thousands of rows can refer to a value in a larger one."""

_THRIFT_INTEGER: Final = 0x15


def parquet_rows(path: Path) -> Iterator[tuple[dict[str, Any], int] | Reject]:
    """Yield the rows of a Parquet file and their numbers, from 1.

    Maps and structs become dictionaries without null values.

    Raises:
        InputError: The file is not Parquet or is damaged, has two columns of one name, or too many
            columns or values.
    """
    import pyarrow as pa

    with opened(path) as plain:
        is_compressed = path.suffix.lower() in COMPRESSED
        file = io.BytesIO(content(path)) if is_compressed else plain
        try:
            number = 0
            parquet, size = _checked(path, file)
            for batch in parquet.iter_batches(size):
                yield from batch_rows(batch, number)
                number += batch.num_rows
        except InputError:
            raise
        # Arrow reports damage with any of these, and with OSError without a number.
        except (pa.ArrowException, ValueError, KeyError, OverflowError, MemoryError) as error:
            raise _damaged(path, error) from error
        except OSError as error:
            if error.errno is not None:
                raise
            raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> InputError:
    cause = str(error).partition("\n")[0].rstrip(" .")
    return InputError([Problem(path, None, f"not Parquet, or damaged: {cause}")])


def _checked(path: Path, file: BinaryIO) -> tuple[ParquetFile, int]:
    """Open a Parquet file; return it with the number of rows to read at a time.

    Raises:
        InputError: Names repeat, or there are too many columns or values.
    """
    from pyarrow.parquet import ParquetFile

    parquet = ParquetFile(file)
    metadata, schema = parquet.metadata, parquet.schema_arrow
    reason = schema_fault(schema)
    if reason is None:
        reason = _expansion(metadata, file)
    if reason is not None:
        raise InputError([Problem(path, None, reason)])
    sizes: dict[str, int] = {}
    for chunk in _chunks(metadata):
        size = _dictionary_size(chunk, file)
        sizes[chunk.path_in_schema] = max(size, sizes.get(chunk.path_in_schema, 0))
    large = [name for name, size in sizes.items() if size > _LARGE_DICTIONARY]
    rest = sum(size for size in sizes.values() if size <= _LARGE_DICTIONARY)
    size = min(MAX_BATCH_ROWS, max(1, _BATCH_BYTES // max(1, rest)))
    return ParquetFile(file, metadata=metadata, read_dictionary=large, buffer_size=MIB), size


def schema_fault(schema: pa.Schema) -> str | None:
    """Return the reason why rows with these columns cannot be read; null if they can."""
    twice = _repeated_name(list(schema))
    if twice is not None:
        return f"two columns have the name {twice!r}"
    return too_many_fields(len(schema.names))


def _repeated_name(fields: Sequence[pa.Field]) -> str | None:
    """Return the first name that two columns, or two members of a struct, have."""
    import pyarrow as pa

    found = first_repeated(field.name for field in fields)
    for field in fields:
        type_ = field.type
        inner = [type_.field(at) for at in range(type_.num_fields)]
        if found is None and inner and not pa.types.is_union(type_):
            found = _repeated_name(inner)
    return found


def _chunks(metadata: FileMetaData) -> Iterator[ColumnChunkMetaData]:
    for group in range(metadata.num_row_groups):
        for column in range(metadata.num_columns):
            yield metadata.row_group(group).column(column)


def _expansion(metadata: FileMetaData, file: BinaryIO) -> str | None:
    """Return the reason why a file expands to more than is allowed; null if it does not."""
    groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
    size = file.seek(0, io.SEEK_END)
    if sum(group.total_byte_size for group in groups) > max(FREE_EXPANSION, MAX_RATIO * size):
        return (
            f"expands to more than {FREE_EXPANSION // MIB:,} MiB and {MAX_RATIO} times its size: "
            "write it without compression if this is intended"
        )
    for group in groups:
        most = MAX_VALUES * max(1_000, group.num_rows)
        for at in range(metadata.num_columns):
            chunk = group.column(at)
            if chunk.num_values > most:
                return (
                    f"{chunk.path_in_schema}: expected at most {MAX_VALUES:,} values per row, "
                    f"found {chunk.num_values:,} in {group.num_rows:,} rows"
                )
    return None


def _dictionary_size(chunk: ColumnChunkMetaData, file: BinaryIO) -> int:
    """Return the size of a column's dictionary in bytes, from the header of its page."""
    if not chunk.has_dictionary_page or chunk.physical_type != "BYTE_ARRAY":
        return 0
    file.seek(max(0, chunk.dictionary_page_offset))
    header = iter(file.read(16))
    numbers = []
    # The first two fields, type and size, are integers of 7 bits a byte, doubled for their sign.
    for _ in range(2):
        if next(header, None) != _THRIFT_INTEGER:
            return _LARGE_DICTIONARY + 1
        number = shift = 0
        for byte in header:
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:  # noqa: PLR2004 - the last byte
                break
        numbers.append(number >> 1)
    return numbers[1]


def batch_rows(batch: pa.RecordBatch, number: int) -> Iterator[tuple[dict[str, Any], int] | Reject]:
    """Yield the rows of a batch; `number` is the number of the row before it."""
    is_small = sum(map(_decoded_bytes, batch.columns)) <= LONGEST_ROW
    if is_small:
        try:
            read = batch.to_pylist(maps_as_pydicts="strict")
        except (ValueError, KeyError, OverflowError):
            is_small = False
        else:
            for row in read:
                number += 1
                yield {name: _plain(value) for name, value in row.items()}, number
            return
    if batch.num_rows > 1:
        half = batch.num_rows // 2
        yield from batch_rows(batch.slice(0, half), number)
        yield from batch_rows(batch.slice(half), number + half)
    elif batch.num_rows:
        yield Reject(number + 1, _fault(batch))


def _fault(row: pa.RecordBatch) -> str:
    """Return the reason why a row cannot be read."""
    for name, column in zip(row.schema.names, row.columns, strict=True):
        if _decoded_bytes(column) > LONGEST_ROW:
            return too_long(f"{name}: the value")
        try:
            column.to_pylist(maps_as_pydicts="strict")
        except UnicodeDecodeError as error:
            return f"{name}: not UTF-8 at byte {error.start + 1} of the text"
        except (ValueError, KeyError, OverflowError) as error:
            return f"{name}: {error}"
    return too_long("the row")


def _decoded_bytes(array: pa.Array) -> int:
    """Return the size of an array in bytes with the texts of dictionaries in each place."""
    import pyarrow as pa
    from pyarrow import compute

    type_ = array.type
    if pa.types.is_dictionary(type_):
        lengths = compute.binary_length(array.dictionary).take(array.indices)
        return int(compute.sum(lengths.cast(pa.int64())).as_py() or 0)
    if pa.types.is_struct(type_):
        return sum(map(_decoded_bytes, array.flatten()))
    if pa.types.is_map(type_):
        begin, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
        length = end - begin
        return sum(_decoded_bytes(part.slice(begin, length)) for part in (array.keys, array.items))
    if pa.types.is_nested(type_) and hasattr(array, "flatten"):
        return _decoded_bytes(array.flatten())
    return int(array.nbytes)


def _plain(value: object) -> Any:
    match value:
        case dict():
            return {key: _plain(each) for key, each in value.items() if each is not None}
        case list():
            return [_plain(each) for each in value]
        case None | bool() | int() | float() | str():
            return value
        case _:
            return str(value)
