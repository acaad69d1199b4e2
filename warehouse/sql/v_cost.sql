WITH shares AS (
    SELECT *, 1.0 / count(*) OVER (PARTITION BY digest) AS share FROM asks
)

SELECT
    s.benchmark,
    s.evaluator,
    s.system,
    j.judged_at::DATE AS day,
    j.model,
    count(*) AS asks,
    sum(s.share) AS calls,
    sum(s.share * j.attempts) AS attempts,
    sum(s.share * j.tokens_in) AS tokens_in,
    sum(s.share * j.tokens_out) AS tokens_out,
    sum(s.share * j.cost_usd) AS cost_usd
FROM shares AS s
JOIN judgments AS j USING (digest)
GROUP BY s.benchmark, s.evaluator, s.system, j.judged_at::DATE, j.model
