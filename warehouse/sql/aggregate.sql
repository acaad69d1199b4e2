-- Aggregates the scores of {benchmarks}: for each benchmark, slice, system, evaluator and metric the
-- number of samples of each status, and the sum and mean of the scored ones. Slices are those of labels.sql,
-- and 'all'. Metrics are identified by their position in the list until the end: names for 13
-- million scores take longer than the sums.
-- Lists are summed by position: samples with the same statuses, which are few combinations, become
-- one row before these are unnested.
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

grouped AS (
    SELECT
        benchmark,
        slice,
        system,
        evaluator,
        signature,
        statuses,
        CASE
            WHEN list_contains(reasons, 'target_error')
                THEN list_transform(reasons, lambda reason: reason = 'target_error')
        END AS failed,
        count(*) AS n,
        max(len("values")) AS places,
        {sums}::DOUBLE[] AS sums
    FROM members
    GROUP BY ALL
),

counted AS (
    SELECT
        benchmark,
        slice,
        system,
        evaluator,
        signature,
        n,
        generate_subscripts(sums[:places], 1) AS place,
        unnest(sums[:places]) AS value_sum,
        unnest(statuses) AS status,
        unnest(failed) AS has_failed
    FROM grouped
)

SELECT
    c.benchmark,
    c.slice,
    c.system,
    c.evaluator,
    s.metrics[c.place] AS metric,
    sum(c.n)::BIGINT AS n,
    coalesce(sum(c.n) FILTER (status IS NULL OR status = 'scored'), 0)::BIGINT AS n_scored,
    coalesce(sum(c.n) FILTER (status = 'not_applicable'), 0)::BIGINT AS n_not_applicable,
    coalesce(sum(c.n) FILTER (status = 'undefined'), 0)::BIGINT AS n_undefined,
    coalesce(sum(c.n) FILTER (status = 'parse_failure'), 0)::BIGINT AS n_parse_failure,
    coalesce(sum(c.n) FILTER (status = 'judge_error'), 0)::BIGINT AS n_judge_error,
    coalesce(sum(c.n) FILTER (status = 'target_error' OR has_failed), 0)::BIGINT
        AS n_target_error,
    fsum(c.value_sum) AS value_sum,
    fsum(c.value_sum) / nullif(n_scored, 0) AS mean,
    c.signature
FROM counted AS c
JOIN signatures AS s USING (evaluator, signature)
WHERE c.place <= len(s.metrics)
GROUP BY c.benchmark, c.slice, c.system, c.evaluator, c.signature, c.place, s.metrics
ORDER BY c.benchmark, c.slice, c.system, c.evaluator, c.place
