-- Several answers to a question.
ALTER TABLE predictions ADD COLUMN IF NOT EXISTS repeat INTEGER DEFAULT 0;
ALTER TABLE grades ADD COLUMN IF NOT EXISTS n_answers INTEGER;

CREATE TABLE IF NOT EXISTS answer_grades (
    benchmark VARCHAR NOT NULL,
    system VARCHAR NOT NULL,
    question_id VARCHAR NOT NULL,
    repeat INTEGER NOT NULL,
    evaluator VARCHAR NOT NULL,
    signature VARCHAR NOT NULL,
    input_digest UBIGINT NOT NULL,
    "values" DOUBLE[] NOT NULL,
    statuses VARCHAR[],
    reasons VARCHAR[],
    detail JSON,
    scored_at TIMESTAMP NOT NULL,
    run_id VARCHAR
);

CREATE TABLE IF NOT EXISTS variance (
    benchmark VARCHAR NOT NULL,
    system VARCHAR NOT NULL,
    evaluator VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    n_questions BIGINT NOT NULL,
    n_answers BIGINT NOT NULL,
    question DOUBLE,
    answer DOUBLE,
    judge DOUBLE,
    judgments DOUBLE
);
