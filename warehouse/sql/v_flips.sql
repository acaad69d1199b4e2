WITH thresholds AS (
    SELECT benchmark, system, evaluator, metric, signature, threshold, best, is_primary
    FROM leaderboard
    WHERE slice = 'all' AND threshold IS NOT NULL
)

SELECT
    q.benchmark,
    n.system,
    q.question_id,
    q.perturbs AS original_id,
    q.perturbation,
    n.evaluator,
    n.metric,
    o.value AS original_value,
    n.value AS perturbed_value,
    t.threshold,
    t.is_primary,
    CASE t.best WHEN 'high' THEN n.value >= t.threshold ELSE n.value <= t.threshold END::INTEGER
        AS passes
FROM questions AS q
JOIN scores AS n ON n.benchmark = q.benchmark AND n.question_id = q.question_id
JOIN scores AS o
    ON o.benchmark = q.benchmark
    AND o.question_id = q.perturbs
    AND o.system = n.system
    AND o.evaluator = n.evaluator
    AND o.metric = n.metric
    AND o.signature = n.signature
JOIN thresholds AS t
    ON t.benchmark = q.benchmark
    AND t.system = n.system
    AND t.evaluator = n.evaluator
    AND t.metric = n.metric
    AND t.signature = n.signature
WHERE q.perturbs IS NOT NULL
  AND CASE t.best
        WHEN 'high' THEN (n.value >= t.threshold) <> (o.value >= t.threshold)
        ELSE (n.value <= t.threshold) <> (o.value <= t.threshold)
    END
