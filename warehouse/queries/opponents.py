"""SQL for the opponents of samples: the systems whose answers to a question are compared."""

from __future__ import annotations


def select_opponents(condition: str, key: str, count: int | None) -> str:
    """Return a statement that selects the opponents of each system on each question.

    The systems that answered a question stand in a ring, in the order of a hash of question and
    system, and each meets its neighbours on both sides. So each system meets equally many others,
    the systems of a question are connected, and over the questions each pair meets about equally
    often. A new system changes the opponents of its neighbours only.

    Where a question has several answers, the first ones are compared.

    Systems that were not asked the question, or that never give an answer as text, have no place
    in the ring. Failed answers have one.

    Args:
        condition: Selects the rows of the benchmarks.
        key: `benchmark, ` as the beginning of a list of columns, or nothing for one benchmark.
        count: The number of opponents, half of them on each side; null: all other systems.

    Returns:
        A statement with the key, question_id, system and opponents: a list of system and answer
        (null: failed), sorted by system.
    """
    places = "range(size)"
    if count is not None:
        # The remainder of a negative number is negative.
        steps = f"range({-(count // 2)}, {count // 2 + 1})"
        places = (
            f"list_distinct(list_transform({steps}, "
            "lambda step: ((place + step) % size + size) % size))"
        )
    return f"""
    WITH ring AS (
        SELECT
            {key}question_id,
            system,
            CASE WHEN error IS NULL THEN coalesce(answer, '') END AS answer,
            row_number() OVER (ordered ORDER BY md5(question_id || chr(31) || system), system) - 1
                AS place,
            count(*) OVER ordered AS size
        FROM predictions
        SEMI JOIN (
            SELECT {key}system
            FROM predictions
            WHERE {condition}
            GROUP BY {key}system
            HAVING bool_or(answer IS NOT NULL)
                OR bool_and(error IS NOT NULL OR not_asked IS NOT NULL)
        ) AS answering USING ({key}system)
        WHERE {condition} AND not_asked IS NULL AND repeat = 0
        WINDOW ordered AS (PARTITION BY {key}question_id)
    ),

    met AS (
        SELECT {key}question_id, system, place AS own_place, unnest({places}) AS place FROM ring
    )

    SELECT
        {key}question_id,
        met.system,
        list({{system: ring.system, answer: ring.answer}} ORDER BY ring.system) AS opponents
    FROM met
    JOIN ring USING ({key}question_id, place)
    WHERE place <> own_place
    GROUP BY {key}question_id, met.system
""".strip("\n")  # noqa: S608
