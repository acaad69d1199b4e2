-- What was published, and what later publications are compared with.
CREATE TABLE IF NOT EXISTS publications (
    published_at TIMESTAMP NOT NULL,
    run_id VARCHAR,
    tag VARCHAR
);

CREATE TABLE IF NOT EXISTS publication_data (
    published_at TIMESTAMP NOT NULL,
    benchmark VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    system VARCHAR,
    evaluator VARCHAR,
    "rows" BIGINT NOT NULL,
    digest VARCHAR NOT NULL,
    version VARCHAR
);

CREATE TABLE IF NOT EXISTS kept_questions (
    digest VARCHAR NOT NULL,
    question_id VARCHAR NOT NULL,
    content UBIGINT NOT NULL
);

CREATE TABLE IF NOT EXISTS kept_answers (
    digest VARCHAR NOT NULL,
    question_id VARCHAR NOT NULL,
    answer VARCHAR,
    error VARCHAR
);

CREATE TABLE IF NOT EXISTS kept_scores (
    digest VARCHAR NOT NULL,
    question_id VARCHAR NOT NULL,
    "values" DOUBLE[] NOT NULL
);

-- Earlier leaderboards were published about when they were computed.
INSERT INTO publications (published_at)
SELECT DISTINCT h.published_at
FROM leaderboard_history AS h
WHERE NOT EXISTS (SELECT 1 FROM publications);
