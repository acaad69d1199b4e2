"""The small queries behind a benchmark's page; each has the parameter `$benchmark`."""

from __future__ import annotations

BOARD = """
SELECT l.*, m.summary, m.family, m.level, m.bound_low AS scale_low, m.bound_high AS scale_high
FROM leaderboard AS l
LEFT JOIN metrics AS m USING (evaluator, metric)
WHERE l.benchmark = $benchmark
ORDER BY l.slice <> 'all', l.slice, l.evaluator, l.is_primary DESC, l.metric, l.rank NULLS LAST,
    l.system
"""

TOTALS = """
SELECT
    (SELECT count(*) FROM questions WHERE benchmark = $benchmark) AS questions,
    (SELECT count(*) FROM predictions WHERE benchmark = $benchmark) AS answers,
    (SELECT count(*) FROM predictions WHERE benchmark = $benchmark AND error IS NOT NULL) AS failed,
    (SELECT count(*) FROM problems WHERE benchmark = $benchmark) AS problems,
    (SELECT count(*) FROM problems WHERE benchmark = $benchmark AND severity = 'high') AS grave,
    (SELECT count(*) FROM rejects WHERE benchmark = $benchmark) AS rejects,
    (SELECT min(len(choices)) FROM questions WHERE benchmark = $benchmark) AS fewest_options,
    (SELECT max(len(choices)) FROM questions WHERE benchmark = $benchmark) AS most_options
"""

COMPARISONS = """
SELECT c.evaluator, c.metric, c.system_a, c.system_b, c.n_pairs, c.difference, c.ci_low, c.ci_high,
    c.p_adjusted, c.verdict, c.detectable_difference
FROM comparisons AS c
INNER JOIN metrics AS m USING (evaluator, metric)
WHERE c.benchmark = $benchmark AND c.slice = 'all' AND m.is_primary = 1
ORDER BY c.evaluator, c.metric, c.system_a, c.system_b
LIMIT $most
"""

SYSTEM_SCORES = """
SELECT system, evaluator, metric, value, status, reason, detail
FROM system_scores
WHERE benchmark = $benchmark AND slice = 'all'
ORDER BY evaluator, metric, system
"""

PROBLEMS = """
SELECT severity, kind, system, evaluator, metric, question_id, value, threshold, message
FROM problems
WHERE benchmark = $benchmark
ORDER BY list_position(['high', 'medium', 'low'], severity), kind, system, evaluator, metric,
    question_id
LIMIT $most
"""

INSIGHTS = """
SELECT kind, evaluator, metric, system, question_id, value, message
FROM insights
WHERE benchmark = $benchmark
ORDER BY evaluator, metric, kind, system, question_id
LIMIT 500
"""

SPENDING = """
SELECT system, count(cost_usd) AS n_cost, avg(cost_usd) AS mean_cost,
    count(latency_s) AS n_latency, median(latency_s) AS median_latency,
    quantile_cont(latency_s, 0.95) AS slow_latency
FROM predictions
WHERE benchmark = $benchmark
GROUP BY system
HAVING n_cost > 0 OR n_latency > 0
ORDER BY system
"""

CURVES = """
SELECT c.system, c.metric, c.threshold, c.share_above, c.n_scored
FROM option_confidence_curves AS c
INNER JOIN (
    SELECT DISTINCT signature FROM leaderboard
    WHERE benchmark = $benchmark AND evaluator = 'option_confidence'
) USING (signature)
WHERE c.benchmark = $benchmark
ORDER BY c.metric, c.system, c.threshold
"""

NOISE = """
SELECT q.noise_ratio, s.system, s.evaluator, s.metric, avg(s.value) AS mean,
    count(s.value) AS n_scored, count(*) AS n
FROM questions AS q
INNER JOIN scores AS s USING (benchmark, question_id)
INNER JOIN (
    SELECT DISTINCT evaluator, metric, signature FROM leaderboard
    WHERE benchmark = $benchmark AND evaluator = 'noise_robustness' AND is_primary = 1
) USING (evaluator, metric, signature)
WHERE q.benchmark = $benchmark AND q.noise_ratio IS NOT NULL
GROUP BY ALL
ORDER BY s.evaluator, s.metric, s.system, q.noise_ratio
"""

JUDGING = """
SELECT a.evaluator, j.model,
    json_merge_patch(j.parameters, '{"origin": null}')::VARCHAR AS parameters, count(*) AS calls,
    count(*) FILTER (j.status = 'parse_failure') AS parse_failures,
    count(*) FILTER (j.status = 'judge_error') AS judge_errors,
    sum(j.tokens_in) AS tokens_in, sum(j.tokens_out) AS tokens_out, sum(j.cost_usd) AS cost_usd,
    min(j.judged_at) AS first_at, max(j.judged_at) AS last_at
FROM (SELECT DISTINCT evaluator, digest FROM asks WHERE benchmark = $benchmark) AS a
INNER JOIN judgments AS j USING (digest)
GROUP BY ALL
ORDER BY a.evaluator, j.model
"""

MARKS = "SELECT stage, digest, marked_at FROM marks WHERE benchmark = $benchmark ORDER BY stage"

REJECTS = (
    "SELECT file, line, reason FROM rejects WHERE benchmark = $benchmark "
    "ORDER BY file, line LIMIT 100"
)
