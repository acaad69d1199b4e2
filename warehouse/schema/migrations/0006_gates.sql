-- The verdict of each gate becomes a table.
CREATE TABLE IF NOT EXISTS gates (
    benchmark VARCHAR NOT NULL,
    system VARCHAR NOT NULL,
    baseline VARCHAR,
    evaluator VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    value DOUBLE,
    "limit" DOUBLE,
    ci_low DOUBLE,
    ci_high DOUBLE,
    verdict VARCHAR NOT NULL,
    passed INTEGER NOT NULL
);

-- Force a new aggregation, which fills new columns.
DELETE FROM marks WHERE stage = 'leaderboard';
