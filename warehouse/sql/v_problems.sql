WITH leveled AS (
    SELECT *, list_position(['high', 'medium', 'low'], severity) AS level
    FROM problems
),

by_kind AS (
    SELECT
        benchmark,
        system,
        evaluator,
        kind,
        count(*) AS n,
        min(level) AS level,
        arg_min(message, {level: level, metric: metric, question_id: question_id}) AS message
    FROM leveled
    GROUP BY benchmark, system, evaluator, kind
)

SELECT
    benchmark,
    system,
    evaluator,
    ['high', 'medium', 'low'][min(level)] AS severity,
    sum(n)::BIGINT AS n_problems,
    list(kind ORDER BY level, kind) AS kinds,
    arg_min(message, {level: level, kind: kind})
    || CASE
        WHEN n_problems = 1 THEN ''
        ELSE format(
            ' (and {} more{})',
            n_problems - 1,
            CASE
                WHEN len(kinds) = 1 THEN ''
                ELSE ': ' || replace(array_to_string(kinds[2:], ', '), '_', ' ')
            END
        )
    END AS message
FROM by_kind
GROUP BY benchmark, system, evaluator
