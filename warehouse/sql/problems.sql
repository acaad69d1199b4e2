-- The problems of {benchmarks}. $judged lists the evaluators that use a judge model, $leaking those
-- that detect leaks, $stale those whose scores are out of date, and $named the metrics whose
-- threshold the configuration sets by name, each with its benchmark: other metrics that are not
-- primary only follow a primary one.
WITH calibrated AS (
    -- Evaluators whose judge agrees with human labels.
    SELECT benchmark, evaluator
    FROM calibration
    WHERE benchmark IN ({benchmarks})
    GROUP BY benchmark, evaluator
    HAVING min(is_calibrated) = 1
),

board AS (
    SELECT
        *,
        evaluator || '.' || metric AS address,
        n_parse_failure + n_judge_error AS n_unjudged,
        n - n_not_applicable AS n_applicable,
        list_contains($judged::VARCHAR[][], [benchmark, evaluator])
            AND (benchmark, evaluator) NOT IN (SELECT (benchmark, evaluator) FROM calibrated)
            AS is_uncalibrated,
        -- A test, not the interval: that covers too little near the ends of a scale.
        coalesce(threshold_p < 0.05, false) AS is_certain,
        coalesce(format('; the interval is {:.3f} to {:.3f}', ci_low, ci_high), '') AS range_text
    FROM leaderboard
    WHERE benchmark IN ({benchmarks}) AND slice = 'all'
),

below_threshold AS (
    SELECT
        benchmark,
        system,
        evaluator,
        metric,
        'below_threshold' AS kind,
        CASE
            WHEN is_primary = 1 AND is_certain AND NOT is_uncalibrated THEN 'high'
            WHEN is_primary = 1 OR is_certain THEN 'medium'
            ELSE 'low'
        END AS severity,
        mean AS value,
        threshold,
        format(
            '{} of {} is {:.3f}, {} than its threshold {:g}; {}{}',
            address, system, mean, CASE best WHEN 'high' THEN 'lower' ELSE 'higher' END, threshold,
            CASE
                WHEN threshold_p IS NULL THEN 'no test holds for this metric'
                WHEN is_certain THEN 'significant'
                ELSE 'not significant'
            END
            || CASE
                WHEN threshold_p IS NULL THEN ''
                WHEN threshold_p < 0.001 THEN ' (adjusted p below 0.001)'
                ELSE format(' (adjusted p = {:.3f})', threshold_p)
            END
            || range_text,
            CASE WHEN is_uncalibrated THEN '; its judge is not validated with human labels, or agrees too little with them' ELSE '' END
        ) AS message
    FROM board
    WHERE passes = 0 AND (is_primary = 1 OR list_contains($named::VARCHAR[][], [benchmark, address]))
),

flips AS (
    SELECT
        benchmark,
        system,
        evaluator,
        metric,
        'perturbation_flip' AS kind,
        question_id,
        CASE passes WHEN 1 THEN 'low' ELSE 'medium' END AS severity,
        perturbed_value AS value,
        threshold,
        format(
            '{}.{} of {} {} from {:.3f} to {:.3f} when question {} becomes {}{}',
            evaluator, metric, system,
            coalesce(format('crosses its threshold {:g}', threshold), 'flips'),
            original_value, perturbed_value, original_id,
            question_id, coalesce(' (' || perturbation || ')', '')
        ) AS message
    FROM v_flips
    -- Without variants (the last condition), no score is read.
    WHERE benchmark IN ({benchmarks}) AND is_primary = 1 AND original_id IS NOT NULL
),

uncovered AS MATERIALIZED (
    SELECT * FROM board WHERE is_primary = 1 AND coverage < 0.95
),

-- Why the samples without a score have none: the most frequent reason, without line breaks.
reasons AS (
    SELECT DISTINCT ON (benchmark, system, evaluator, metric, signature)
        * EXCLUDE (status, reason),
        trim(regexp_replace(reason, '\s+', ' ', 'g')) AS line,
        CASE
            WHEN length(line) > 200 THEN left(line, 150) || ' ... ' || right(line, 45)
            ELSE line
        END AS reason
    FROM (
        SELECT
            g.benchmark,
            g.system,
            g.evaluator,
            g.signature,
            unnest(s.metrics) AS metric,
            unnest(g.statuses) AS status,
            unnest(g.reasons) AS reason
        FROM grades AS g
        JOIN signatures AS s USING (evaluator, signature)
        -- Before they are unnested, as below.
        SEMI JOIN uncovered AS u
            ON u.benchmark = g.benchmark
            AND u.system = g.system
            AND u.evaluator = g.evaluator
            AND u.signature = g.signature
        WHERE g.benchmark IN ({benchmarks})
    )
    WHERE status NOT IN ('scored', 'not_applicable') AND reason IS NOT NULL
    GROUP BY benchmark, system, evaluator, metric, signature, status, reason
    ORDER BY benchmark, system, evaluator, metric, signature, count(*) DESC, reason
),

low_coverage AS (
    SELECT
        benchmark,
        system,
        evaluator,
        metric,
        'low_coverage' AS kind,
        'medium' AS severity,
        coverage AS value,
        0.95 AS threshold,
        format(
            '{} has a score for {} of the {} samples of {} to which it applies{}{}',
            address, n_scored, n_applicable, system,
            CASE WHEN n_scored > 0 THEN ': the mean covers only these' ELSE '' END,
            coalesce('; the most frequent reason: ' || reason, '')
        ) AS message
    FROM uncovered
    LEFT JOIN reasons USING (benchmark, system, evaluator, metric, signature)
),

unanswered AS MATERIALIZED (
    SELECT
        benchmark,
        system,
        question_id,
        evaluator,
        metric,
        signature,
        reason,
        starts_with(reason, 'budget: ') AS is_over_budget
    FROM (
        SELECT
            g.benchmark,
            g.system,
            g.question_id,
            g.evaluator,
            unnest(s.metrics) AS metric,
            g.signature,
            unnest(g.statuses) AS status,
            unnest(g.reasons) AS reason
        FROM grades AS g
        JOIN signatures AS s USING (evaluator, signature)
        -- Before they are unnested: of a million samples, hardly any has an error.
        WHERE g.benchmark IN ({benchmarks}) AND list_contains(g.statuses, 'judge_error')
    )
    WHERE status = 'judge_error'
),

-- The reason of a composite names the part that has no verdict.
over_budget AS (
    SELECT
        u.benchmark,
        u.system,
        u.evaluator,
        u.metric,
        u.signature,
        count(*) AS n_over_budget,
        max(regexp_extract(coalesce(part.reason, u.reason), 'budget of ([0-9.,]+)', 1)) AS budget
    FROM unanswered AS u
    LEFT JOIN unanswered AS part
        ON part.benchmark = u.benchmark
        AND part.system = u.system
        AND part.question_id = u.question_id
        AND part.evaluator || '.' || part.metric || ': judge_error' = u.reason
    WHERE u.is_over_budget OR part.is_over_budget
    GROUP BY ALL
),

spent AS (
    SELECT runs.benchmark, coalesce(sum(j.cost_usd), 0) AS usd
    FROM (
        SELECT DISTINCT a.benchmark, j.run_id
        FROM judgments AS j
        JOIN asks AS a USING (digest)
        WHERE a.benchmark IN ({benchmarks})
          AND j.status = 'judge_error'
          AND starts_with(j.error, 'budget: ')
    ) AS runs
    JOIN judgments AS j USING (run_id)
    WHERE j.digest NOT IN (SELECT digest FROM answers)
      AND NOT starts_with(j.model, 'litellm:')
    GROUP BY runs.benchmark
),

budget_reached AS (
    SELECT
        b.benchmark,
        b.system,
        b.evaluator,
        b.metric,
        'budget_reached' AS kind,
        'high' AS severity,
        o.n_over_budget / b.n_applicable AS value,
        0.0 AS threshold,
        format(
            'the judge was not asked about {} of {} samples of {} for {}: the budget of {} US '
            'dollars was reached at {} spent; run again to go on',
            o.n_over_budget, b.n_applicable, b.system, b.address, o.budget,
            CASE
                WHEN s.usd >= 0.1 THEN format('{:.2f}', s.usd)
                ELSE format('{:.2g}', coalesce(s.usd, 0))
            END
        ) AS message
    FROM board AS b
    JOIN over_budget AS o USING (benchmark, system, evaluator, metric, signature)
    LEFT JOIN spent AS s USING (benchmark)
    WHERE b.is_primary = 1
),

judge_failures AS (
    SELECT
        b.benchmark,
        b.system,
        b.evaluator,
        b.metric,
        'judge_failure' AS kind,
        CASE WHEN n_failed > 0.05 * b.n_applicable THEN 'high' ELSE 'low' END AS severity,
        n_failed / b.n_applicable AS value,
        0.0 AS threshold,
        format(
            'the judge of {} gave no usable verdict on {} of {} samples of {} ({} replies were not '
            'usable, {} calls failed): a problem of the judge, not of the system; '
            '`scoreline run --retry` asks again',
            b.address, n_failed, b.n_applicable, b.system, b.n_parse_failure,
            n_failed - b.n_parse_failure
        ) AS message
    FROM (
        SELECT *, n_unjudged - coalesce(n_over_budget, 0) AS n_failed
        FROM board
        LEFT JOIN over_budget USING (benchmark, system, evaluator, metric, signature)
    ) AS b
    WHERE b.is_primary = 1 AND n_failed > 0
),

partly_judged AS (
    SELECT
        b.benchmark,
        b.system,
        b.evaluator,
        b.metric,
        'partly_judged' AS kind,
        'low' AS severity,
        count(*) / any_value(b.n) AS value,
        0.0 AS threshold,
        format(
            '{} has no verdict on some answers to {} of {} questions of {}: their scores rest on the '
            'other answers',
            b.address, count(*), any_value(b.n), b.system
        ) AS message
    FROM grades AS g
    JOIN board AS b USING (benchmark, system, evaluator, signature)
    WHERE g.benchmark IN ({benchmarks})
      AND b.is_primary = 1
      AND g.n_answers IS NOT NULL
      -- Statuses of answers without a verdict stand among the numbers.
      AND list_has_any(
        json_extract_string(g.detail, '$.answers[*]'), ['judge_error', 'parse_failure']
      )
      AND list_has_any(json_type(g.detail, '$.answers[*]'), ['DOUBLE', 'UBIGINT', 'BIGINT'])
    GROUP BY b.benchmark, b.system, b.evaluator, b.metric, b.address
),

stale_scores AS (
    SELECT DISTINCT
        benchmark,
        evaluator,
        metric,
        'stale_scores' AS kind,
        'medium' AS severity,
        format(
            'scores of {} may be of earlier questions, answers or settings: the last run left out '
            'this evaluator or some systems; a run of all computes them again',
            evaluator
        ) AS message
    FROM board
    WHERE is_primary = 1 AND list_contains($stale::VARCHAR[][], [benchmark, evaluator])
),

failed_answers AS (
    SELECT
        benchmark,
        system,
        'failed_answers' AS kind,
        -- Without any answer, the system could not be reached, or its file has errors only.
        CASE WHEN count(error) = count(*) THEN 'high' ELSE 'medium' END AS severity,
        count(error) / count(*) AS value,
        0.0 AS threshold,
        CASE
            WHEN max(repeat) = 0
                THEN format(
                    '{} gave no answer to {} of {} questions', system, count(error), count(*)
                )
            ELSE format('{} gave no answer {} of {} times', system, count(error), count(*))
        END
        || CASE
            WHEN (benchmark, system) IN (SELECT (benchmark, system) FROM answers)
                THEN '; `scoreline run --retry` asks again'
            ELSE ''
        END AS message
    FROM predictions
    WHERE benchmark IN ({benchmarks}) AND not_asked IS NULL
    GROUP BY benchmark, system
    HAVING count(error) > 0
),

empty_answers AS (
{empty_answers}
),

leaks AS (
    SELECT
        s.benchmark,
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
    JOIN board AS b USING (benchmark, system, evaluator, metric, signature)
    WHERE s.benchmark IN ({benchmarks})
      AND b.is_primary = 1
      AND list_contains($leaking::VARCHAR[][], [s.benchmark, s.evaluator])
      -- A leak needs no threshold: everything but the best value is one.
      AND s.value <> b.best_value
),

truncated AS (
    -- Of several answers to a question, one is enough.
    SELECT DISTINCT
        g.benchmark,
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
    FROM (
        SELECT benchmark, system, question_id, evaluator, signature, reasons, detail FROM grades
        UNION ALL
        SELECT benchmark, system, question_id, evaluator, signature, reasons, detail
        FROM answer_grades
    ) AS g
    JOIN board AS b USING (benchmark, system, evaluator, signature)
    WHERE g.benchmark IN ({benchmarks})
      AND b.is_primary = 1
      AND (
        -- A list: DuckDB would evaluate NOT IN for all rows, and parse all details.
        CASE WHEN contains(g.detail::VARCHAR, '"truncated":')
            THEN NOT list_contains(
                ['0', 'false', '[]', '{}', ''], json_extract_string(g.detail, '$.truncated')
            ) END
        OR len(list_filter(g.reasons, lambda r: contains(r, 'truncated'))) > 0
        OR len(list_filter(g.reasons, lambda r: contains(r, 'context_overflow'))) > 0
      )
),

few_clusters AS (
    SELECT
        benchmark,
        evaluator,
        metric,
        'few_questions' AS kind,
        'low' AS severity,
        max(effective_clusters) AS value,
        $few::DOUBLE AS threshold,
        format(
            '{} rests on {} independent {}{}: with fewer than {}, intervals are approximate',
            address, max(n_clusters),
            CASE max(n_clusters) WHEN 1 THEN 'question or cluster' ELSE 'questions or clusters' END,
            CASE
                WHEN max(effective_clusters) < max(n_clusters) - 0.5
                    THEN format(' of different size, worth {:.0f} equal ones', max(effective_clusters))
                ELSE ''
            END,
            $few
        ) AS message
    FROM board
    WHERE is_primary = 1 AND n_clusters > 0
    GROUP BY benchmark, evaluator, metric, address
    HAVING max(effective_clusters) < $few
),

failed_gates AS (
    SELECT
        benchmark,
        system,
        evaluator,
        metric,
        'gate' AS kind,
        'high' AS severity,
        first(value ORDER BY kind, baseline) AS value,
        first("limit" ORDER BY kind, baseline) AS threshold,
        string_agg(message, '; ' ORDER BY kind, baseline) AS message
    FROM gates
    WHERE benchmark IN ({benchmarks}) AND passed = 0
    GROUP BY benchmark, system, evaluator, metric
),

uncalibrated AS (
    -- The labelled metric of each evaluator that lacks the most.
    SELECT DISTINCT ON (board.benchmark, board.evaluator, board.metric)
        board.benchmark,
        board.evaluator,
        board.metric,
        'uncalibrated_judge' AS kind,
        'low' AS severity,
        c.kappa AS value,
        0.4 AS threshold,
        format('the judge of {} is not validated: {}', address, CASE
            WHEN c.evaluator IS NULL THEN
                'label a random sample of at least 20 answers, and import the labels with '
                '`scoreline labels import`'
            WHEN c.n_compared = 0
                THEN coalesce(c.agreement_reason, 'no answer with a label has a score')
            WHEN c.base_rate IN (0, 1) THEN format(
                'all {} labels {}; label answers of the other class, too',
                c.n_compared, if(c.base_rate = 1, 'pass', 'fail')
            )
            WHEN c.labels_needed IS NULL THEN format(
                'it agrees too little with {} human labels (kappa {:.2f}, not above 0.4)',
                c.n_compared, c.kappa
            )
            WHEN c.kappa <= 0.4 THEN format(
                'it agrees too little with {} human labels (kappa {:.2f}, not above 0.4), and at least {} '
                'more labels are needed',
                c.n_compared, c.kappa, c.labels_needed
            )
            ELSE format(
                '{} human labels do not show that kappa is above 0.4 ({}): about {} more labels are '
                'needed',
                c.n_compared,
                coalesce(
                    format('kappa {:.2f}, interval {:.2f} to {:.2f}', c.kappa, c.kappa_low, c.kappa_high),
                    format('kappa {:.2f}', c.kappa),
                    'no kappa yet'
                ),
                c.labels_needed
            )
        END) AS message
    FROM board
    LEFT JOIN calibration AS c
        ON c.benchmark = board.benchmark
        AND c.evaluator = board.evaluator
        AND c.is_calibrated = 0
    WHERE is_primary = 1 AND is_uncalibrated AND n_scored > 0
    ORDER BY board.benchmark, board.evaluator, board.metric, c.metric = board.metric DESC, c.labels_needed DESC NULLS FIRST, c.metric
),

panel_disagreement AS (
    SELECT
        p.benchmark,
        p.evaluator,
        p.metric,
        'panel_disagreement' AS kind,
        CASE WHEN p.alpha_high < 0.667 THEN 'medium' ELSE 'low' END AS severity,
        p.alpha AS value,
        0.667 AS threshold,
        format(
            'the judges of {}.{} agree too little on {} samples: Krippendorff''s alpha is '
            '{:.2f}{}, less than {:g}; look at samples on which they differ, and replace the judge '
            'that agrees least with human labels',
            p.evaluator, p.metric, p.n, p.alpha,
            coalesce(format(' (interval {:.2f} to {:.2f})', p.alpha_low, p.alpha_high), ''),
            0.667
        ) AS message
    FROM panel AS p
    SEMI JOIN (SELECT benchmark, evaluator, metric FROM board WHERE is_primary = 1) AS b
        ON b.benchmark = p.benchmark AND b.evaluator = p.evaluator AND b.metric = p.metric
    WHERE p.alpha < 0.667
)

SELECT *
FROM (
    SELECT * FROM below_threshold
    UNION ALL BY NAME SELECT * FROM flips
    UNION ALL BY NAME SELECT * FROM low_coverage
    UNION ALL BY NAME SELECT * FROM budget_reached
    UNION ALL BY NAME SELECT * FROM judge_failures
    UNION ALL BY NAME SELECT * FROM partly_judged
    UNION ALL BY NAME SELECT * FROM stale_scores
    UNION ALL BY NAME SELECT * FROM failed_answers
    UNION ALL BY NAME SELECT * FROM empty_answers
    UNION ALL BY NAME SELECT * FROM leaks
    UNION ALL BY NAME SELECT * FROM truncated
    UNION ALL BY NAME SELECT * FROM few_clusters
    UNION ALL BY NAME SELECT * FROM uncalibrated
    UNION ALL BY NAME SELECT * FROM panel_disagreement
    UNION ALL BY NAME SELECT * FROM failed_gates
)
ORDER BY benchmark, severity = 'low', severity = 'medium', kind, system, evaluator, metric, question_id
