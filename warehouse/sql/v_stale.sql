SELECT
    benchmark,
    system,
    question_id,
    evaluator,
    CASE
        WHEN g.question_id IS NULL THEN 'not scored'
        WHEN p.question_id IS NULL THEN 'no prediction any more'
        ELSE 'scored by another configuration'
    END AS why,
    g.signature,
    p.signature AS shown_signature,
    g.scored_at
FROM (
    SELECT p.benchmark, p.system, p.question_id, l.evaluator, l.signature
    FROM predictions AS p
    JOIN (
        SELECT DISTINCT benchmark, evaluator, signature FROM leaderboard WHERE slice = 'all'
    ) AS l USING (benchmark)
    WHERE p.repeat = 0
) AS p
FULL JOIN grades AS g USING (benchmark, system, question_id, evaluator)
WHERE g.question_id IS NULL OR p.question_id IS NULL OR g.signature <> p.signature
