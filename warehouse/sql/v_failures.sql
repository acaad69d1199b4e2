SELECT
    s.benchmark,
    s.system,
    s.question_id,
    s.evaluator,
    s.metric,
    CASE
        WHEN s.reason = 'target_error' OR s.status = 'target_error' THEN 'no answer'
        WHEN s.value IS NULL THEN s.status
        WHEN l.threshold IS NULL THEN 'the worst value'
        ELSE 'worse than the threshold'
    END AS why,
    s.value,
    l.threshold,
    s.reason,
    q.question,
    p.answer,
    p.error,
    s.detail
FROM scores AS s
JOIN leaderboard AS l USING (benchmark, system, evaluator, metric, signature)
JOIN questions AS q USING (benchmark, question_id)
JOIN (FROM predictions WHERE repeat = 0) AS p USING (benchmark, system, question_id)
WHERE l.slice = 'all'
  AND l.is_primary = 1
  AND (
    s.status IN ('parse_failure', 'judge_error', 'target_error')
    OR s.reason = 'target_error'
    OR CASE
        WHEN l.threshold IS NULL THEN s.value = l.worst_value
        WHEN l.best = 'high' THEN s.value < l.threshold
        ELSE s.value > l.threshold
    END
  )
