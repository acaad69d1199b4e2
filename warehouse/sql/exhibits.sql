-- Some questions of a benchmark, each with all answers and all that is known about them, as JSON.
WITH chosen AS (
    SELECT unnest($ids::VARCHAR[]) AS question_id, unnest(range(len($ids::VARCHAR[]))) AS place
),

shown AS (
    SELECT DISTINCT evaluator, signature FROM leaderboard WHERE benchmark = $benchmark
),

graded AS (
    SELECT question_id, system, list({
        'e': evaluator, 'v': "values", 's': statuses, 'r': reasons, 'd': detail::VARCHAR
    } ORDER BY evaluator) AS grades
    FROM grades
    INNER JOIN chosen USING (question_id)
    INNER JOIN shown USING (evaluator, signature)
    WHERE benchmark = $benchmark
    GROUP BY ALL
),

said AS (
    SELECT a.question_id, a.system, list({
        'e': a.evaluator, 'n': a.step, 'm': j.model, 'r': j.reply, 's': j.status, 'x': j.error
    } ORDER BY a.evaluator, a.step) AS judged
    FROM asks AS a
    INNER JOIN chosen USING (question_id)
    INNER JOIN judgments AS j USING (digest)
    WHERE a.benchmark = $benchmark
    GROUP BY ALL
),

passages AS (
    SELECT question_id, list_distinct(flatten(list(contexts))) AS texts
    FROM predictions
    INNER JOIN chosen USING (question_id)
    WHERE benchmark = $benchmark
    GROUP BY ALL
),

cited AS (
    SELECT p.question_id, any_value(q.doc_id) AS doc_id, list_distinct(flatten([
        flatten(list(coalesce(p.cited_sentence_ids, []))),
        any_value(coalesce(q.gold_sentence_ids, []))
    ])) AS ids
    FROM predictions AS p
    INNER JOIN chosen USING (question_id)
    INNER JOIN questions AS q USING (benchmark, question_id)
    WHERE benchmark = $benchmark
    GROUP BY ALL
),

sentences AS (
    SELECT c.question_id, list({'id': d.sentence_id, 'text': d.text} ORDER BY d.position) AS sentences
    FROM cited AS c
    INNER JOIN documents AS d ON d.doc_id = c.doc_id AND list_contains(c.ids, d.sentence_id)
    WHERE d.benchmark = $benchmark
    GROUP BY ALL
),

answers AS (
    SELECT p.question_id, list({
        'system': p.system,
        'answer': p.answer,
        'contexts': list_transform(p.contexts, lambda text: list_position(t.texts, text)),
        'docs': p.retrieved_doc_ids,
        'chunks': p.retrieved_chunk_ids,
        'scores': p.retrieved_scores::VARCHAR[],
        'cited': p.cited_sentence_ids,
        'logprobs': p.choice_logprobs::VARCHAR[],
        'label': p.label,
        'latency': p.latency_s::VARCHAR,
        'cost': p.cost_usd::VARCHAR,
        'error': p.error,
        'grades': g.grades,
        'judged': s.judged
    } ORDER BY p.system) AS answers
    FROM predictions AS p
    INNER JOIN chosen USING (question_id)
    LEFT JOIN passages AS t USING (question_id)
    LEFT JOIN graded AS g USING (question_id, system)
    LEFT JOIN said AS s USING (question_id, system)
    WHERE p.benchmark = $benchmark
    GROUP BY ALL
)

SELECT c.question_id, to_json({
    'id': q.question_id,
    'question': q.question,
    'expected': q.expected_answers,
    'label': q.expected_label,
    'doc': q.doc_id,
    'gold_docs': q.gold_doc_ids,
    'gold_sentences': q.gold_sentence_ids,
    'choices': q.choices,
    'correct': q.correct_choice,
    'scenario': q.scenario,
    'noise': q.noise_ratio::VARCHAR,
    'tags': q.tags,
    'rubric': q.rubric::VARCHAR,
    'sentences': e.sentences,
    'texts': t.texts,
    'answers': a.answers
})::VARCHAR AS json
FROM chosen AS c
INNER JOIN questions AS q USING (question_id)
LEFT JOIN answers AS a USING (question_id)
LEFT JOIN passages AS t USING (question_id)
LEFT JOIN sentences AS e USING (question_id)
WHERE q.benchmark = $benchmark
ORDER BY c.place
