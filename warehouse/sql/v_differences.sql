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
JOIN scores AS b
    ON b.benchmark = a.benchmark
    AND b.question_id = a.question_id
    AND b.evaluator = a.evaluator
    AND b.metric = a.metric
    AND b.signature = a.signature
    AND b.system <> a.system
WHERE a.value IS NOT NULL AND b.value IS NOT NULL
