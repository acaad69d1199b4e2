-- Copies of the rows that do not meet an expectation.
CREATE TABLE IF NOT EXISTS quarantine (
    run_id VARCHAR NOT NULL,
    "table" VARCHAR NOT NULL,
    expectation VARCHAR NOT NULL,
    benchmark VARCHAR,
    system VARCHAR,
    question_id VARCHAR,
    "row" JSON NOT NULL,
    severity VARCHAR NOT NULL,
    quarantined_at TIMESTAMP NOT NULL
);
