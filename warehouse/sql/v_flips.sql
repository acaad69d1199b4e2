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
    CASE
        WHEN t.threshold IS NULL THEN n.value = t.best_value
        WHEN t.best = 'high' THEN n.value >= t.threshold
        ELSE n.value <= t.threshold
    END::INTEGER AS passes
FROM questions AS q
JOIN scores AS n USING (benchmark, question_id)
JOIN leaderboard AS t USING (benchmark, system, evaluator, metric, signature)
JOIN scores AS o
    ON o.benchmark = q.benchmark
    AND o.question_id = q.perturbs
    AND o.system = n.system
    AND o.evaluator = n.evaluator
    AND o.metric = n.metric
    AND o.signature = n.signature
WHERE t.slice = 'all'
  AND CASE
        -- Without a threshold, only a change from the best to the worst value is a flip.
        WHEN t.threshold IS NULL
            THEN least(n.value, o.value) = least(t.best_value, t.worst_value)
                AND greatest(n.value, o.value) = greatest(t.best_value, t.worst_value)
                AND t.best_value IS NOT NULL AND t.worst_value IS NOT NULL
        WHEN t.best = 'high' THEN (n.value >= t.threshold) <> (o.value >= t.threshold)
        ELSE (n.value <= t.threshold) <> (o.value <= t.threshold)
    END
