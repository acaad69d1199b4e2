WITH shown AS (
    SELECT DISTINCT benchmark, evaluator, signature FROM leaderboard WHERE slice = 'all'
)

SELECT
    coalesce(g.benchmark, p.benchmark) AS benchmark,
    coalesce(g.system, p.system) AS system,
    coalesce(g.question_id, p.question_id) AS question_id,
    coalesce(g.evaluator, e.evaluator) AS evaluator,
    CASE
        WHEN g.question_id IS NULL THEN 'not scored'
        WHEN p.question_id IS NULL THEN 'no prediction any more'
        ELSE 'scored by another configuration'
    END AS why,
    g.signature,
    e.signature AS shown_signature,
    g.scored_at
FROM (
    predictions AS p
    JOIN shown AS e USING (benchmark)
)
FULL JOIN grades AS g
    ON g.benchmark = p.benchmark
    AND g.system = p.system
    AND g.question_id = p.question_id
    AND g.evaluator = e.evaluator
WHERE g.question_id IS NULL OR p.question_id IS NULL OR g.signature <> e.signature
