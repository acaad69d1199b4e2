-- Aggregates the scores of {benchmarks}: for each benchmark, slice, system, evaluator and metric the
-- number of samples of each status, and the sum and mean of the scored ones. Slices are those of labels.sql,
-- and 'all'. Metrics are identified by their position in the list until the end: names for 13
-- million scores take longer than the sums.
-- Most samples have a score for every metric and no reasons: their lists are summed by position.
-- Only the other samples are unnested into one row for each score.
WITH labels AS (
    {labels}
),

members AS (
    SELECT
        g.benchmark, 'all' AS slice, g.system, g.evaluator, g.signature, g."values", g.statuses,
        g.reasons
    FROM grades AS g
    WHERE g.benchmark IN ({benchmarks})
    UNION ALL
    SELECT
        g.benchmark, l.slice, g.system, g.evaluator, g.signature, g."values", g.statuses, g.reasons
    FROM grades AS g
    JOIN labels AS l USING (benchmark, question_id)
    WHERE g.benchmark IN ({benchmarks})
),

plain AS (
    SELECT benchmark, slice, system, evaluator, signature, count(*) AS n, {sums}::DOUBLE[] AS sums
    FROM members
    WHERE statuses IS NULL AND reasons IS NULL
    GROUP BY benchmark, slice, system, evaluator, signature
),

numbers AS (
    SELECT
        benchmark,
        slice,
        system,
        evaluator,
        signature,
        generate_subscripts("values", 1) AS place,
        unnest("values") AS value,
        unnest(statuses) AS status,
        unnest(reasons) AS reason
    FROM members
    WHERE statuses IS NOT NULL OR reasons IS NOT NULL
),

counted AS (
    SELECT
        benchmark,
        slice,
        system,
        evaluator,
        signature,
        generate_subscripts(sums, 1) AS place,
        n,
        n AS n_scored,
        unnest(sums) AS value_sum
    FROM plain
    UNION ALL BY NAME
    SELECT
        benchmark,
        slice,
        system,
        evaluator,
        signature,
        place,
        count(*) AS n,
        count(*) FILTER (status IS NULL OR status = 'scored') AS n_scored,
        count(*) FILTER (status = 'not_applicable') AS n_not_applicable,
        count(*) FILTER (status = 'undefined') AS n_undefined,
        count(*) FILTER (status = 'parse_failure') AS n_parse_failure,
        count(*) FILTER (status = 'judge_error') AS n_judge_error,
        count(*) FILTER (status = 'target_error' OR reason = 'target_error') AS n_target_error,
        fsum(value) AS value_sum
    FROM numbers
    GROUP BY ALL
)

SELECT
    c.benchmark,
    c.slice,
    c.system,
    c.evaluator,
    s.metrics[c.place] AS metric,
    sum(c.n)::BIGINT AS n,
    sum(c.n_scored)::BIGINT AS n_scored,
    coalesce(sum(c.n_not_applicable), 0)::BIGINT AS n_not_applicable,
    coalesce(sum(c.n_undefined), 0)::BIGINT AS n_undefined,
    coalesce(sum(c.n_parse_failure), 0)::BIGINT AS n_parse_failure,
    coalesce(sum(c.n_judge_error), 0)::BIGINT AS n_judge_error,
    coalesce(sum(c.n_target_error), 0)::BIGINT AS n_target_error,
    fsum(c.value_sum) AS value_sum,
    fsum(c.value_sum) / nullif(sum(c.n_scored), 0) AS mean,
    c.signature
FROM counted AS c
JOIN signatures AS s USING (evaluator, signature)
WHERE c.place <= len(s.metrics)
GROUP BY c.benchmark, c.slice, c.system, c.evaluator, c.signature, c.place, s.metrics
ORDER BY c.benchmark, c.slice, c.system, c.evaluator, c.place
