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
),

counted AS (
    -- The message of the first kind is shown; what is left is counted by kind.
    SELECT
        *,
        n - (
            row_number() OVER (PARTITION BY benchmark, system, evaluator ORDER BY level, kind) = 1
        )::BIGINT AS n_more
    FROM by_kind
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
            ' (and {} more problem{}: {})',
            n_problems - 1,
            CASE WHEN n_problems = 2 THEN '' ELSE 's' END,
            string_agg(
                format('{} ''{}''', n_more, replace(kind, '_', ' ')),
                ', ' ORDER BY level, kind
            ) FILTER (WHERE n_more > 0)
        )
    END AS message
FROM counted
GROUP BY benchmark, system, evaluator
