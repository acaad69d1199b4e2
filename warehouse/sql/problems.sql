-- The problems of $benchmark. $judged lists the evaluators that use a judge model, $calibrated those
-- whose judge agrees with human labels.
WITH board AS (
    SELECT
        *,
        evaluator || '.' || metric AS address,
        n_parse_failure + n_judge_error AS n_unjudged,
        n - n_not_applicable AS n_applicable,
        list_contains($judged::VARCHAR[], evaluator)
            AND NOT list_contains($calibrated::VARCHAR[], evaluator) AS is_uncalibrated,
        CASE best WHEN 'high' THEN ci_high < threshold ELSE ci_low > threshold END AS is_certain,
        format('{:.3f} to {:.3f}', ci_low, ci_high) AS range_text
    FROM leaderboard
    WHERE benchmark = $benchmark AND slice = 'all'
),

below_threshold AS (
    SELECT
        system,
        evaluator,
        metric,
        'below_threshold' AS kind,
        CASE
            WHEN is_primary = 0 THEN 'low'
            WHEN is_certain AND NOT is_uncalibrated THEN 'high'
            ELSE 'medium'
        END AS severity,
        mean AS value,
        threshold,
        format(
            '{} of {} is {:.3f}, {} than its threshold {:g}; {}{}',
            address, system, mean, CASE best WHEN 'high' THEN 'lower' ELSE 'higher' END, threshold,
            CASE
                WHEN ci_low IS NULL THEN 'there are too few questions for an interval'
                WHEN is_certain THEN 'significant: the interval is ' || range_text
                ELSE 'not significant: the interval is ' || range_text
            END,
            CASE WHEN is_uncalibrated THEN '; its judge is not validated with human labels, or agrees too little with them' ELSE '' END
        ) AS message
    FROM board
    WHERE passes = 0
),

flips AS (
    SELECT
        system,
        evaluator,
        metric,
        'perturbation_flip' AS kind,
        question_id,
        CASE passes WHEN 1 THEN 'low' ELSE 'medium' END AS severity,
        perturbed_value AS value,
        threshold,
        format(
            '{}.{} of {} crosses its threshold {:g} from {:.3f} to {:.3f} when question {} becomes {}{}',
            evaluator, metric, system, threshold, original_value, perturbed_value, original_id,
            question_id, coalesce(' (' || perturbation || ')', '')
        ) AS message
    FROM v_flips
    WHERE benchmark = $benchmark AND is_primary = 1
),

low_coverage AS (
    SELECT
        system,
        evaluator,
        metric,
        'low_coverage' AS kind,
        CASE WHEN coverage < 0.5 THEN 'high' ELSE 'medium' END AS severity,
        coverage AS value,
        0.95 AS threshold,
        format(
            '{} has a score for {} of the {} samples of {} to which it applies: '
            'the mean covers only these',
            address, n_scored, n_applicable, system
        ) AS message
    FROM board
    WHERE is_primary = 1 AND coverage < 0.95
),

judge_failures AS (
    SELECT
        system,
        evaluator,
        metric,
        'judge_failure' AS kind,
        CASE WHEN n_unjudged > 0.05 * n_applicable THEN 'high' ELSE 'low' END AS severity,
        n_unjudged / n_applicable AS value,
        0.0 AS threshold,
        format(
            'the judge of {} gave no usable verdict on {} of {} samples of {} ({} replies were not '
            'usable, {} calls failed): a problem of the judge, not of the system',
            address, n_unjudged, n_applicable, system, n_parse_failure, n_judge_error
        ) AS message
    FROM board
    WHERE is_primary = 1 AND n_unjudged > 0
),

failed_answers AS (
    SELECT
        system,
        'failed_answers' AS kind,
        CASE WHEN count(error) > 0.05 * count(*) THEN 'high' ELSE 'medium' END AS severity,
        count(error) / count(*) AS value,
        0.0 AS threshold,
        format('{} gave no answer to {} of {} questions', system, count(error), count(*)) AS message
    FROM predictions
    WHERE benchmark = $benchmark
    GROUP BY system
    HAVING count(error) > 0
),

leaks AS (
    SELECT
        s.system,
        s.evaluator,
        s.metric,
        'leak' AS kind,
        s.question_id,
        'high' AS severity,
        s.value,
        b.threshold,
        format(
            '{} of {} on question {}: the answer contains information that it must not',
            b.address, s.system, s.question_id
        ) AS message
    FROM scores AS s
    JOIN board AS b USING (system, evaluator, metric, signature)
    WHERE s.benchmark = $benchmark
      AND b.is_primary = 1
      AND list_contains($leaking::VARCHAR[], s.evaluator)
      AND CASE b.best WHEN 'high' THEN s.value < b.threshold ELSE s.value > b.threshold END
),

truncated AS (
    SELECT
        g.system,
        g.evaluator,
        b.metric,
        'truncated_text' AS kind,
        g.question_id,
        'low' AS severity,
        format(
            '{} of {} on question {}: the text was too long and was truncated',
            g.evaluator, g.system, g.question_id
        ) AS message
    FROM grades AS g
    JOIN board AS b USING (system, evaluator, signature)
    WHERE g.benchmark = $benchmark
      AND b.is_primary = 1
      AND (
        (g.detail IS NOT NULL AND contains(g.detail::VARCHAR, '"truncated":')
          AND json_extract_string(g.detail, '$.truncated') NOT IN ('0', 'false', '[]', '{}', ''))
        OR len(list_filter(g.reasons, lambda r: contains(r, 'truncated'))) > 0
        OR len(list_filter(g.reasons, lambda r: contains(r, 'context_overflow'))) > 0
      )
),

few_clusters AS (
    SELECT
        evaluator,
        metric,
        'few_questions' AS kind,
        'low' AS severity,
        max(n_clusters) AS value,
        $few::DOUBLE AS threshold,
        format(
            '{} rests on {} independent questions or clusters: with fewer than {}, intervals are '
            'approximate',
            address, max(n_clusters), $few
        ) AS message
    FROM board
    WHERE is_primary = 1 AND n_clusters > 0
    GROUP BY evaluator, metric, address
    HAVING max(n_clusters) < $few
),

uncalibrated AS (
    SELECT
        evaluator,
        metric,
        'uncalibrated_judge' AS kind,
        'low' AS severity,
        0.4 AS threshold,
        format(
            'the judge of {} is not validated with human labels, or agrees with them too little '
            '(kappa below 0.4): import labels with `scoreline labels import`',
            address
        ) AS message
    FROM board
    WHERE is_primary = 1 AND is_uncalibrated AND n_scored > 0
    GROUP BY evaluator, metric, address
)

SELECT $benchmark AS benchmark, *
FROM (
    SELECT * FROM below_threshold
    UNION ALL BY NAME SELECT * FROM flips
    UNION ALL BY NAME SELECT * FROM low_coverage
    UNION ALL BY NAME SELECT * FROM judge_failures
    UNION ALL BY NAME SELECT * FROM failed_answers
    UNION ALL BY NAME SELECT * FROM leaks
    UNION ALL BY NAME SELECT * FROM truncated
    UNION ALL BY NAME SELECT * FROM few_clusters
    UNION ALL BY NAME SELECT * FROM uncalibrated
)
ORDER BY severity = 'low', severity = 'medium', kind, system, evaluator, metric, question_id
