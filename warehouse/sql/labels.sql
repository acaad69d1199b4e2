-- The slices of each question of {benchmarks} without 'all': one row for each of $slices (tags or the
-- question columns below) for which the question has a value.
SELECT benchmark, question_id, name || '=' || value AS slice
FROM (
    SELECT
        q.benchmark,
        q.question_id,
        a.name,
        coalesce(
            q.tags[a.name],
            CASE a.name
                WHEN 'noise_ratio' THEN q.noise_ratio::VARCHAR
                WHEN 'scenario' THEN q.scenario
                WHEN 'perturbation' THEN q.perturbation
                WHEN 'doc_id' THEN q.doc_id
                WHEN 'cluster' THEN q.cluster
                WHEN 'expected_label' THEN q.expected_label
            END
        ) AS value
    FROM questions AS q
    CROSS JOIN (SELECT DISTINCT unnest($slices::VARCHAR[]) AS name) AS a
    WHERE q.benchmark IN ({benchmarks})
)
WHERE value IS NOT NULL
