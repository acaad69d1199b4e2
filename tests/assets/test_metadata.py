"""Partition metadata: each partition gets its own, with one read of the partitions."""

import dagster as dg
import pytest

from assets.keys import BACKFILL, BENCHMARKS
from assets.metadata import add_partition_metadata

KEY = dg.AssetKey("counted")


@dg.asset(key=KEY, partitions_def=BENCHMARKS, backfill_policy=BACKFILL)
def counted(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
    numbers = {(KEY, name): {"number": int(name[1:])} for name in context.partition_keys}
    add_partition_metadata(context, numbers)
    return dg.MaterializeResult[None](metadata={"of all": 1})


def materialised(count: int, reads: list[str], monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """The number of each partition in Dagster; every read of the partitions is recorded."""
    names = [f"b{number}" for number in range(count)]
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions(str(BENCHMARKS.name), names)
        for method in ("get_dynamic_partitions", "has_dynamic_partition"):
            asked = getattr(instance, method)

            def noted(*arguments: str, asked: object = asked, **named: str) -> object:
                reads.append(str(arguments))
                return asked(*arguments, **named)  # type: ignore[operator]

            monkeypatch.setattr(instance, method, noted)
        tags = {
            "dagster/asset_partition_range_start": names[0],
            "dagster/asset_partition_range_end": names[-1],
        }
        events = dg.materialize(
            [counted], instance=instance, tags=tags
        ).asset_materializations_for_node("counted")
    assert all(event.metadata["of all"].value == 1 for event in events)
    return {str(event.partition): int(str(event.metadata["number"].value)) for event in events}


def test_many_partitions_need_as_few_reads_as_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few: list[str] = []
    many: list[str] = []
    assert materialised(2, few, monkeypatch) == {"b0": 0, "b1": 1}
    assert materialised(40, many, monkeypatch) == {f"b{n}": n for n in range(40)}
    assert 0 < len(few) == len(many)
