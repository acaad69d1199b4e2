-- A warehouse of schema version 1, as the program made it that first wrote one.
CREATE TABLE "questions" (
    "benchmark" VARCHAR NOT NULL,
    "question_id" VARCHAR NOT NULL,
    "question" VARCHAR,
    "expected_answers" VARCHAR[],
    "expected_parts" VARCHAR[][],
    "expected_label" VARCHAR,
    "doc_id" VARCHAR,
    "gold_doc_ids" VARCHAR[],
    "gold_relevance" STRUCT(doc_id VARCHAR, grade INTEGER)[],
    "gold_sentence_ids" VARCHAR[],
    "rubric" JSON,
    "constraints" JSON,
    "choices" VARCHAR[],
    "correct_choice" INTEGER,
    "scenario" VARCHAR,
    "noise_ratio" DOUBLE,
    "counterfactual_answer" VARCHAR,
    "perturbs" VARCHAR,
    "perturbation" VARCHAR,
    "cluster" VARCHAR,
    "tags" MAP(VARCHAR, VARCHAR),
    "extra" JSON,
    "file" VARCHAR,
    "line" BIGINT
);

CREATE TABLE "documents" (
    "benchmark" VARCHAR NOT NULL,
    "doc_id" VARCHAR NOT NULL,
    "sentence_id" VARCHAR NOT NULL,
    "position" INTEGER NOT NULL,
    "text" VARCHAR NOT NULL
);

CREATE TABLE "predictions" (
    "benchmark" VARCHAR NOT NULL,
    "system" VARCHAR NOT NULL,
    "question_id" VARCHAR NOT NULL,
    "answer" VARCHAR,
    "contexts" VARCHAR[],
    "retrieved_doc_ids" VARCHAR[],
    "retrieved_chunk_ids" VARCHAR[],
    "retrieved_scores" DOUBLE[],
    "cited_sentence_ids" VARCHAR[],
    "choice_logprobs" DOUBLE[],
    "label" VARCHAR,
    "latency_s" DOUBLE,
    "cost_usd" DOUBLE,
    "error" VARCHAR,
    "extra" JSON
);

CREATE TABLE "rejects" (
    "benchmark" VARCHAR NOT NULL,
    "kind" VARCHAR NOT NULL,
    "system" VARCHAR,
    "file" VARCHAR NOT NULL,
    "line" BIGINT,
    "reason" VARCHAR NOT NULL,
    "text" VARCHAR,
    "rejected_at" TIMESTAMP NOT NULL
);

CREATE TABLE "metrics" (
    "evaluator" VARCHAR NOT NULL,
    "family" VARCHAR NOT NULL,
    "metric" VARCHAR NOT NULL,
    "summary" VARCHAR NOT NULL,
    "best" VARCHAR NOT NULL,
    "bound_low" DOUBLE,
    "bound_high" DOUBLE,
    "threshold" DOUBLE,
    "is_primary" INTEGER NOT NULL,
    "level" VARCHAR NOT NULL
);

CREATE TABLE "signatures" (
    "evaluator" VARCHAR NOT NULL,
    "signature" VARCHAR NOT NULL,
    "parameters" JSON,
    "version" INTEGER NOT NULL,
    "metrics" VARCHAR[] NOT NULL,
    "first_seen" TIMESTAMP NOT NULL
);

CREATE TABLE "grades" (
    "benchmark" VARCHAR NOT NULL,
    "system" VARCHAR NOT NULL,
    "question_id" VARCHAR NOT NULL,
    "evaluator" VARCHAR NOT NULL,
    "signature" VARCHAR NOT NULL,
    "input_digest" UBIGINT NOT NULL,
    "values" DOUBLE[] NOT NULL,
    "statuses" VARCHAR[],
    "reasons" VARCHAR[],
    "detail" JSON,
    "scored_at" TIMESTAMP NOT NULL,
    "run_id" VARCHAR
);

CREATE TABLE "system_scores" (
    "benchmark" VARCHAR NOT NULL,
    "system" VARCHAR NOT NULL,
    "slice" VARCHAR NOT NULL,
    "evaluator" VARCHAR NOT NULL,
    "metric" VARCHAR NOT NULL,
    "value" DOUBLE,
    "status" VARCHAR NOT NULL,
    "reason" VARCHAR,
    "detail" JSON,
    "signature" VARCHAR NOT NULL
);

CREATE TABLE "leaderboard" (
    "benchmark" VARCHAR NOT NULL,
    "slice" VARCHAR NOT NULL,
    "system" VARCHAR NOT NULL,
    "evaluator" VARCHAR NOT NULL,
    "metric" VARCHAR NOT NULL,
    "mean" DOUBLE,
    "n" BIGINT NOT NULL,
    "n_scored" BIGINT NOT NULL,
    "n_not_applicable" BIGINT NOT NULL,
    "n_undefined" BIGINT NOT NULL,
    "n_parse_failure" BIGINT NOT NULL,
    "n_judge_error" BIGINT NOT NULL,
    "n_target_error" BIGINT NOT NULL,
    "coverage" DOUBLE,
    "bound_low" DOUBLE,
    "bound_high" DOUBLE,
    "std_error" DOUBLE,
    "ci_low" DOUBLE,
    "ci_high" DOUBLE,
    "rank" INTEGER,
    "rank_low" INTEGER,
    "rank_high" INTEGER,
    "tied_with_best" INTEGER,
    "threshold" DOUBLE,
    "passes" INTEGER,
    "best" VARCHAR NOT NULL,
    "is_primary" INTEGER NOT NULL,
    "signature" VARCHAR NOT NULL,
    "published_at" TIMESTAMP NOT NULL
);

CREATE TABLE "leaderboard_history" (
    "published_at" TIMESTAMP NOT NULL,
    "benchmark" VARCHAR NOT NULL,
    "slice" VARCHAR NOT NULL,
    "system" VARCHAR NOT NULL,
    "evaluator" VARCHAR NOT NULL,
    "metric" VARCHAR NOT NULL,
    "mean" DOUBLE,
    "ci_low" DOUBLE,
    "ci_high" DOUBLE,
    "n_scored" BIGINT NOT NULL,
    "signature" VARCHAR NOT NULL
);

CREATE TABLE "comparisons" (
    "benchmark" VARCHAR NOT NULL,
    "slice" VARCHAR NOT NULL,
    "metric" VARCHAR NOT NULL,
    "evaluator" VARCHAR NOT NULL,
    "system_a" VARCHAR NOT NULL,
    "system_b" VARCHAR NOT NULL,
    "n_pairs" BIGINT NOT NULL,
    "difference" DOUBLE,
    "ci_low" DOUBLE,
    "ci_high" DOUBLE,
    "p_value" DOUBLE,
    "p_adjusted" DOUBLE,
    "verdict" VARCHAR NOT NULL,
    "detectable_difference" DOUBLE
);

CREATE TABLE "problems" (
    "benchmark" VARCHAR NOT NULL,
    "system" VARCHAR NOT NULL,
    "evaluator" VARCHAR,
    "metric" VARCHAR,
    "kind" VARCHAR NOT NULL,
    "question_id" VARCHAR,
    "severity" VARCHAR NOT NULL,
    "value" DOUBLE,
    "threshold" DOUBLE,
    "message" VARCHAR NOT NULL
);

CREATE TABLE "insights" (
    "benchmark" VARCHAR NOT NULL,
    "evaluator" VARCHAR,
    "metric" VARCHAR,
    "kind" VARCHAR NOT NULL,
    "system" VARCHAR,
    "question_id" VARCHAR,
    "value" DOUBLE,
    "message" VARCHAR NOT NULL
);

CREATE TABLE "judgments" (
    "digest" VARCHAR NOT NULL,
    "model" VARCHAR NOT NULL,
    "parameters" JSON,
    "messages" JSON NOT NULL,
    "reply_schema" JSON,
    "replicate" INTEGER NOT NULL,
    "reply" VARCHAR,
    "status" VARCHAR NOT NULL,
    "error" VARCHAR,
    "attempts" INTEGER,
    "tokens_in" BIGINT,
    "tokens_out" BIGINT,
    "cost_usd" DOUBLE,
    "latency_s" DOUBLE,
    "judged_at" TIMESTAMP NOT NULL,
    "run_id" VARCHAR
);

CREATE TABLE "asks" (
    "benchmark" VARCHAR NOT NULL,
    "system" VARCHAR NOT NULL,
    "question_id" VARCHAR NOT NULL,
    "evaluator" VARCHAR NOT NULL,
    "step" INTEGER NOT NULL,
    "digest" VARCHAR NOT NULL
);

CREATE TABLE "labels" (
    "benchmark" VARCHAR NOT NULL,
    "system" VARCHAR NOT NULL,
    "question_id" VARCHAR NOT NULL,
    "evaluator" VARCHAR NOT NULL,
    "metric" VARCHAR NOT NULL,
    "value" DOUBLE NOT NULL,
    "annotator" VARCHAR NOT NULL
);

CREATE TABLE "calibration" (
    "benchmark" VARCHAR NOT NULL,
    "system" VARCHAR NOT NULL,
    "evaluator" VARCHAR NOT NULL,
    "metric" VARCHAR NOT NULL,
    "method" VARCHAR NOT NULL,
    "n_labels" BIGINT NOT NULL,
    "n_annotators" BIGINT NOT NULL,
    "raw_mean" DOUBLE,
    "corrected_mean" DOUBLE,
    "ci_low" DOUBLE,
    "ci_high" DOUBLE,
    "agreement" DOUBLE,
    "kappa" DOUBLE,
    "correlation" DOUBLE,
    "true_positive_rate" DOUBLE,
    "true_negative_rate" DOUBLE,
    "calibrated_at" TIMESTAMP NOT NULL
);

CREATE TABLE "validations" (
    "run_id" VARCHAR NOT NULL,
    "table" VARCHAR NOT NULL,
    "expectation" VARCHAR NOT NULL,
    "success" INTEGER NOT NULL,
    "observed" VARCHAR,
    "unexpected_count" BIGINT,
    "severity" VARCHAR NOT NULL
);

CREATE TABLE "marks" (
    "benchmark" VARCHAR NOT NULL,
    "stage" VARCHAR NOT NULL,
    "digest" VARCHAR NOT NULL,
    "marked_at" TIMESTAMP NOT NULL
);

CREATE TABLE "meta" (
    "name" VARCHAR NOT NULL,
    "value" VARCHAR NOT NULL
);

CREATE VIEW "contexts" AS
SELECT
    benchmark,
    system,
    question_id,
    unnest(range(1, 1 + greatest(
        len(contexts), len(retrieved_doc_ids), len(retrieved_chunk_ids), len(retrieved_scores)
    ))) AS rank,
    unnest(retrieved_doc_ids) AS doc_id,
    unnest(retrieved_chunk_ids) AS chunk_id,
    unnest(retrieved_scores) AS score,
    unnest(contexts) AS text
FROM predictions;

CREATE VIEW "scores" AS
SELECT
    g.benchmark,
    g.system,
    g.question_id,
    g.evaluator,
    unnest(s.metrics) AS metric,
    unnest(g."values") AS value,
    coalesce(unnest(g.statuses), 'scored') AS status,
    unnest(g.reasons) AS reason,
    g.detail,
    g.input_digest,
    g.signature,
    g.scored_at,
    g.run_id
FROM grades AS g
JOIN signatures AS s USING (evaluator, signature);

CREATE VIEW "option_confidence_curves" AS
WITH steps AS (
    SELECT
        g.benchmark,
        g.system,
        g.signature,
        m.metric,
        g."values"[list_position(s.metrics, m.metric)] AS threshold,
        count(*) AS n_equal
    FROM grades AS g
    JOIN signatures AS s USING (evaluator, signature)
    CROSS JOIN (VALUES ('phi'), ('delta')) AS m (metric)
    WHERE g.evaluator = 'option_confidence' AND threshold IS NOT NULL
    GROUP BY ALL
),

summed AS (
    SELECT
        *,
        sum(n_equal) OVER (curve ORDER BY threshold DESC) - n_equal AS n_above,
        sum(n_equal) OVER curve AS n_scored
    FROM steps
    WINDOW curve AS (PARTITION BY benchmark, system, signature, metric)
)

SELECT
    benchmark,
    system,
    signature,
    metric,
    threshold,
    n_above / n_scored AS share_above,
    n_above::BIGINT AS n_above,
    n_scored::BIGINT AS n_scored
FROM summed;

INSERT INTO meta VALUES ('schema_version', '1');
