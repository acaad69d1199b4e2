-- The systems of {benchmarks} with predictions that hold no answer. $answering lists the fields
-- that could hold it, each with its benchmark; $null_texts the texts that other tools write for a
-- missing value; $answer_names what other tools call an answer.
WITH answering AS (
    SELECT pair[1] AS benchmark, list(DISTINCT pair[2] ORDER BY pair[2]) AS fields
    FROM (SELECT unnest($answering::VARCHAR[][]) AS pair)
    GROUP BY ALL
),

-- The text of a missing value is an answer where a question expects it.
expecting AS (
    SELECT DISTINCT benchmark, true AS is_expected
    FROM questions
    WHERE benchmark IN ({benchmarks})
      AND list_has_any(
        list_concat(expected_answers, flatten(expected_parts), choices, [expected_label]),
        $null_texts::VARCHAR[]
      )
),

given AS (
    SELECT
        benchmark,
        system,
        extra,
        error IS NOT NULL AS is_failed,
        -- Without a value at all, the field may be missing from the file.
        answer IS NULL AND label IS NULL AS is_null,
        CASE WHEN is_expected THEN [''] ELSE list_concat([''], $null_texts::VARCHAR[]) END AS nothing,
        list_filter([
            {filled}
        ], lambda name: name IS NOT NULL) AS filled
    FROM predictions
    LEFT JOIN expecting USING (benchmark)
    WHERE benchmark IN ({benchmarks}) AND not_asked IS NULL
),

counted AS (
    SELECT
        benchmark,
        system,
        any_value(fields) AS fields,
        count(*) FILTER (NOT is_failed) AS n,
        count(*) FILTER (NOT is_failed AND NOT list_has_any(filled, fields)) AS n_empty,
        bool_and(is_null) AS is_null
    FROM given
    JOIN answering USING (benchmark)
    GROUP BY benchmark, system
    HAVING n_empty > 0
),

-- Unknown fields that answers have beside them: they hold something else.
beside AS (
    SELECT DISTINCT benchmark, system, unnest(json_keys(extra)) AS name
    FROM given
    JOIN counted USING (benchmark, system)
    WHERE list_has_any(filled, counted.fields)
),

-- What unknown fields hold where there is no answer: texts, or lists where the answer is a list.
unused AS (
    SELECT
        benchmark,
        system,
        name,
        list_bool_or(list_transform($answer_names::VARCHAR[], lambda word: contains(lower(name), word)))
            AS is_named_so,
        list_max(list_transform(fields, lambda f: jaro_winkler_similarity(lower(name), f))) AS nearness,
        count(*) AS n_given,
        avg(length(value::VARCHAR)) AS size
    FROM (
        SELECT benchmark, system, fields, e.key AS name, e.value AS value
        FROM (
            SELECT
                benchmark,
                system,
                counted.fields,
                unnest(map_entries(from_json(extra, '"MAP(VARCHAR, JSON)"'))) AS e
            FROM given
            JOIN counted USING (benchmark, system)
            WHERE NOT is_failed AND NOT list_has_any(filled, counted.fields)
        )
    )
    ANTI JOIN beside USING (benchmark, system, name)
    WHERE if(list_has_any(fields, ['answer', 'label']),
        json_type(value) = 'VARCHAR' AND trim(value ->> '$') <> '', json_type(value) = 'ARRAY')
    GROUP BY benchmark, system, name, fields
),

causes AS (
    SELECT DISTINCT ON (benchmark, system) *
    FROM unused
    ORDER BY benchmark, system, nearness >= $near DESC, is_named_so DESC, n_given DESC, size DESC, name
)

SELECT
    benchmark,
    system,
    'empty_answers' AS kind,
    CASE WHEN n_empty = n THEN 'high' ELSE 'medium' END AS severity,
    n_empty / n AS value,
    0.0 AS threshold,
    format(
        '{} answers of {} are empty (nothing in `{}`): {}',
        CASE WHEN n_empty = n THEN format('all {}', n) ELSE format('{} of {}', n_empty, n) END,
        system, array_to_string(fields, '` or `'),
        CASE
            WHEN name IS NOT NULL THEN format(
                'most likely the field {} holds them, which is not read: call it `{}`, or map it with '
                '`columns`',
                json_quote(name), fields[1]
            )
            WHEN is_null THEN 'the field is missing in the file, or null in every row'
            ELSE 'no other field of these predictions could hold them'
        END
    ) AS message
FROM counted
LEFT JOIN causes USING (benchmark, system)
