-- The insights of {benchmarks}. $retrieving lists the evaluators of retrieval, $judging_context those
-- that check the retrieved context beside the answer.
WITH measured AS (
    -- Systems are ranked by their means over common questions.
    SELECT * REPLACE (coalesce(common_mean, mean) AS mean), evaluator || '.' || metric AS address
    FROM leaderboard
    WHERE benchmark IN ({benchmarks}) AND slice = 'all' AND mean IS NOT NULL
        AND n_common IS DISTINCT FROM 0
),

board AS (
    SELECT * FROM measured WHERE is_primary = 1
),

contexts AS (
    SELECT * FROM measured
    WHERE is_primary = 0 AND metric = 'retrieval_failures'
        AND list_contains($judging_context::VARCHAR[][], [benchmark, evaluator])
),

ends AS (
    SELECT
        benchmark,
        evaluator,
        metric,
        address,
        is_primary,
        count(*) AS systems,
        list({system: system, mean: mean} ORDER BY rank, system) AS ordered,
        ordered[1] AS leader,
        ordered[-1] AS loser,
        count(*) FILTER (rank = 1) AS n_first,
        count(*) FILTER (mark = 'best') AS n_best,
        count(*) FILTER (mark IS NULL) AS n_unknown
    FROM (SELECT * FROM board UNION ALL SELECT * FROM contexts)
    GROUP BY benchmark, evaluator, metric, address, is_primary
    HAVING systems > 1 AND abs(ordered[1].mean - ordered[-1].mean) > 1e-12 * greatest(1, abs(ordered[1].mean))
),

best_and_worst AS (
    SELECT benchmark, evaluator, metric, is_primary, unnest([
        {
            kind: 'best_system',
            system: CASE WHEN n_first = 1 THEN leader.system END,
            value: leader.mean,
            message: CASE
                WHEN n_first > 1
                    THEN format('{} of {} systems share the best mean by {} ({:.3f})', n_first, systems, address, leader.mean)
                ELSE format(
                    '{} has the best mean of {} systems by {} ({:.3f}){}', leader.system, systems, address, leader.mean,
                    CASE
                        WHEN n_best = 1 THEN ', significantly better than all others'
                        WHEN n_unknown > 0 THEN ''
                        ELSE ', not significantly better than all others'
                    END
                )
            END
        },
        {kind: 'worst_system', system: loser.system, value: loser.mean, message: format(
            '{} is the last of {} systems by {} ({:.3f})', loser.system, systems, address, loser.mean
        )},
        {kind: 'best_retrieval', system: leader.system, value: leader.mean, message: format(
            '{} retrieves best by {} ({:.3f})', leader.system, address, leader.mean
        )},
        {kind: 'worst_retrieval', system: loser.system, value: loser.mean, message: format(
            '{} retrieves worst by {} ({:.3f})', loser.system, address, loser.mean
        )}
    ], recursive := true)
    FROM ends
),

spent AS (
    SELECT benchmark, system, avg(latency_s) AS seconds, avg(cost_usd) AS usd
    FROM predictions
    WHERE benchmark IN ({benchmarks})
    GROUP BY benchmark, system
),

fast AS (
    -- Without a difference between systems, none of them is the fastest or the cheapest.
    SELECT benchmark, kind, system, value, message
    FROM (
        SELECT benchmark, system, unnest([
            {kind: 'fastest', value: seconds, place: seconds, message: format(
                '{} is the fastest system: {:.3g} seconds per answer on average', system, seconds)},
            {kind: 'slowest', value: seconds, place: -seconds, message: format(
                '{} is the slowest system: {:.3g} seconds per answer on average', system, seconds)},
            {kind: 'cheapest', value: usd, place: usd, message: format(
                '{} is the cheapest system: {:.5f} US dollars per answer on average', system, usd)},
            {kind: 'most_expensive', value: usd, place: -usd, message: format(
                '{} is the most expensive system: {:.5f} US dollars per answer on average', system, usd)}
        ], recursive := true)
        FROM spent
    )
    WHERE value IS NOT NULL
    WINDOW same AS (PARTITION BY benchmark, kind)
    QUALIFY min(value) OVER same < max(value) OVER same
        AND row_number() OVER (PARTITION BY benchmark, kind ORDER BY place, system) = 1
),

placed AS (
    SELECT b.*, list_position(s.metrics, b.metric) AS place
    FROM board AS b
    JOIN signatures AS s USING (evaluator, signature)
),

hard AS (
    SELECT
        g.benchmark,
        g.evaluator,
        g.question_id,
        avg(g."values"[b.place]) AS value,
        count(*) AS systems,
        count(*) FILTER (
            CASE b.best
                WHEN 'high' THEN g."values"[b.place] < b.threshold
                ELSE g."values"[b.place] > b.threshold
            END
        ) AS failed
    FROM grades AS g
    JOIN placed AS b USING (benchmark, system, evaluator, signature)
    WHERE g.benchmark IN ({benchmarks}) AND g."values"[b.place] IS NOT NULL
    GROUP BY ALL
),

hardest AS (
    -- An aggregate instead of a window function, which would sort a million questions.
    SELECT
        benchmark,
        evaluator,
        metric,
        'hardest_question' AS kind,
        worst.question_id AS question_id,
        worst.value AS value,
        format(
            'question {} is the hardest by {}: {:.3f} on average{}',
            worst.question_id, address, worst.value,
            CASE
                WHEN has_threshold
                    THEN format(', {} of {} systems fail', worst.failed, worst.systems)
                ELSE ''
            END
        ) AS message
    FROM (
        SELECT
            h.benchmark,
            h.evaluator,
            m.metric,
            m.address,
            m.has_threshold,
            arg_min(h, {
                failed: -h.failed,
                -- Rounded, because the last digit of a mean depends on the order of summation.
                value: round(CASE m.best WHEN 'high' THEN h.value ELSE -h.value END, 9),
                question_id: h.question_id
            }) AS worst
        FROM hard AS h
        JOIN (
            SELECT DISTINCT
                benchmark, evaluator, metric, address, best, threshold IS NOT NULL AS has_threshold
            FROM board
        ) AS m USING (benchmark, evaluator)
        GROUP BY ALL
        HAVING min(h.value) <> max(h.value)
    )
),

ungrounded AS (
    SELECT
        g.benchmark,
        g.evaluator,
        b.metric,
        'least_grounded_sentence' AS kind,
        g.system,
        g.question_id,
        g.repeat,
        g."values"[b.place] AS value,
        json_extract_string(g.detail, '$.least_grounded') AS sentence,
        b.address
    FROM (
        SELECT benchmark, system, question_id, NULL AS repeat, evaluator, signature, "values", detail
        FROM grades
        UNION ALL
        -- The detail of a mean of several answers is only their values.
        SELECT benchmark, system, question_id, repeat, evaluator, signature, "values", detail
        FROM answer_grades
    ) AS g
    JOIN placed AS b USING (benchmark, system, evaluator, signature)
    WHERE g.benchmark IN ({benchmarks})
      AND g.detail IS NOT NULL
      AND contains(g.detail::VARCHAR, '"least_grounded":')
      AND g."values"[b.place] < coalesce(b.threshold, b.best_value)
    QUALIFY row_number() OVER (
        PARTITION BY g.benchmark, g.evaluator ORDER BY value, g.system, g.question_id, g.repeat
    ) = 1
),

turned AS (
    -- Pairs of systems whose order on a slice is significantly the reverse of the overall order.
    SELECT
        p.benchmark,
        p.evaluator,
        p.metric,
        'order_turns' AS kind,
        CASE p.verdict WHEN 'better' THEN p.system_a ELSE p.system_b END AS system,
        p.difference AS value,
        format(
            'on the slice {} {} is significantly better than {} by {}.{}; on all questions the order '
            'is reversed',
            p.slice,
            CASE p.verdict WHEN 'better' THEN p.system_a ELSE p.system_b END,
            CASE p.verdict WHEN 'better' THEN p.system_b ELSE p.system_a END,
            p.evaluator, p.metric
        ) AS message
    FROM comparisons AS p
    JOIN comparisons AS w USING (benchmark, evaluator, metric, system_a, system_b)
    SEMI JOIN board AS b
        ON b.benchmark = p.benchmark AND b.evaluator = p.evaluator AND b.metric = p.metric
    WHERE p.benchmark IN ({benchmarks})
      AND w.slice = 'all'
      AND p.slice <> 'all'
      AND p.verdict IN ('better', 'worse')
      AND sign(p.difference) = -sign(w.difference)
      -- The difference on the slice must differ from that on the other questions, beyond chance.
      AND p.p_interaction < 0.05
    QUALIFY row_number() OVER (
        PARTITION BY p.benchmark, p.evaluator, p.metric, system
        ORDER BY abs(p.difference) DESC, p.slice
    ) = 1
)

SELECT *
FROM (
    SELECT * EXCLUDE (is_primary) FROM best_and_worst
    WHERE CASE
        WHEN kind IN ('best_system', 'worst_system') THEN is_primary = 1
        ELSE is_primary = 0 OR list_contains($retrieving::VARCHAR[][], [benchmark, evaluator])
    END
    UNION ALL BY NAME SELECT * FROM fast
    UNION ALL BY NAME SELECT * FROM hardest
    UNION ALL BY NAME SELECT * EXCLUDE (address, sentence, repeat), format(
        'the least grounded sentence by {} ({:.3f}) is one of {} on question {}{}: {}',
        address, value, system, question_id, coalesce(' (answer ' || (repeat + 1) || ')', ''), sentence
    ) AS message FROM ungrounded
    UNION ALL BY NAME SELECT * FROM turned
)
ORDER BY benchmark, kind, evaluator, metric, system, question_id
