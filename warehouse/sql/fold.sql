-- Many scores to few: for each slice, system, evaluator and metric of $benchmark the number of
-- samples of each status, and the sum and mean of the scored ones. Slices are those of labels.sql;
-- the slice 'all' is always there. Metrics are told apart by their place in the list until the
-- end: names for 13 million numbers would take longer than the sums.
WITH labels AS (
    {labels}
),

members AS (
    SELECT 'all' AS slice, g.system, g.evaluator, g.signature, g."values", g.statuses, g.reasons
    FROM grades AS g
    WHERE g.benchmark = $benchmark
    UNION ALL
    SELECT l.slice, g.system, g.evaluator, g.signature, g."values", g.statuses, g.reasons
    FROM grades AS g
    JOIN labels AS l USING (question_id)
    WHERE g.benchmark = $benchmark
),

numbers AS (
    SELECT
        slice,
        system,
        evaluator,
        signature,
        generate_subscripts("values", 1) AS place,
        unnest("values") AS value,
        unnest(statuses) AS status,
        unnest(reasons) AS reason
    FROM members
),

folded AS (
    SELECT
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
    f.slice,
    f.system,
    f.evaluator,
    s.metrics[f.place] AS metric,
    f.n,
    f.n_scored,
    f.n_not_applicable,
    f.n_undefined,
    f.n_parse_failure,
    f.n_judge_error,
    f.n_target_error,
    f.value_sum,
    f.value_sum / nullif(f.n_scored, 0) AS mean,
    f.signature
FROM folded AS f
JOIN signatures AS s USING (evaluator, signature)
ORDER BY f.slice, f.system, f.evaluator, f.place
