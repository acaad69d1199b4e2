SELECT
    l.benchmark,
    l.slice,
    l.system,
    min(l.rank) FILTER (l.is_headline = 1) AS rank,
    any_value(l.evaluator || '.' || l.metric) FILTER (l.is_headline = 1) AS rank_by,
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
    list(l.evaluator ORDER BY l.evaluator) FILTER (l.is_primary = 1 AND l.tied_with_best = 1)
        AS best_or_tied_by,
    CASE any_value(g.passed) WHEN 1 THEN 'passed' WHEN 0 THEN 'failed' END AS gate,
    list(l.evaluator ORDER BY l.evaluator) FILTER (
        l.is_primary = 1 AND c.evaluator IS NULL AND j.evaluator IS NOT NULL
    ) AS uncalibrated
FROM leaderboard AS l
LEFT JOIN (
    SELECT benchmark, evaluator FROM calibration GROUP BY ALL HAVING min(is_calibrated) = 1
) AS c USING (benchmark, evaluator)
LEFT JOIN (SELECT DISTINCT benchmark, evaluator FROM asks) AS j USING (benchmark, evaluator)
LEFT JOIN (SELECT benchmark, system, min(passed) AS passed FROM gates GROUP BY ALL) AS g
    USING (benchmark, system)
WHERE l.is_primary = 1 OR l.is_headline = 1
GROUP BY l.benchmark, l.slice, l.system
