SELECT
    a.benchmark,
    a.question_id,
    a.evaluator,
    a.metric,
    a.system AS system_a,
    b.system AS system_b,
    a.value AS value_a,
    b.value AS value_b,
    a.value - b.value AS difference
FROM scores AS a
JOIN scores AS b USING (benchmark, question_id, evaluator, metric, signature)
WHERE a.system <> b.system AND a.value IS NOT NULL AND b.value IS NOT NULL
