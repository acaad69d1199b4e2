-- Systems that are asked.
CREATE TABLE IF NOT EXISTS answers (
    benchmark VARCHAR NOT NULL,
    system VARCHAR NOT NULL,
    question_id VARCHAR NOT NULL,
    repeat INTEGER NOT NULL,
    digest VARCHAR NOT NULL,
    answered_at TIMESTAMP,
    latency_s DOUBLE,
    first_token_s DOUBLE,
    tokens_in BIGINT,
    tokens_out BIGINT,
    cost_usd DOUBLE,
    error VARCHAR,
    attempts INTEGER NOT NULL,
    run_id VARCHAR
);
