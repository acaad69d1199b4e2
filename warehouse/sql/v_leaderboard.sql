SELECT
    l.benchmark,
    l.slice,
    l.system,
    avg(l.rank) AS mean_rank,
    max(l.n) AS n,
    min(l.coverage) AS lowest_coverage,
    map(
        list(l.evaluator || '.' || l.metric ORDER BY l.evaluator, l.metric),
        list(l.mean ORDER BY l.evaluator, l.metric)
    ) AS means,
    map(
        list(l.evaluator || '.' || l.metric ORDER BY l.evaluator, l.metric),
        list([l.ci_low, l.ci_high] ORDER BY l.evaluator, l.metric)
    ) AS intervals,
    list(l.evaluator ORDER BY l.evaluator) FILTER (l.tied_with_best = 1) AS best_or_tied_by,
    list(l.evaluator ORDER BY l.evaluator) FILTER (c.evaluator IS NULL AND j.evaluator IS NOT NULL)
        AS uncalibrated
FROM leaderboard AS l
LEFT JOIN (
    SELECT DISTINCT benchmark, evaluator, metric FROM calibration WHERE is_calibrated = 1
) AS c USING (benchmark, evaluator, metric)
LEFT JOIN (SELECT DISTINCT benchmark, evaluator FROM asks) AS j USING (benchmark, evaluator)
WHERE l.is_primary = 1
GROUP BY l.benchmark, l.slice, l.system
