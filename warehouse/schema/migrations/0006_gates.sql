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
    passed INTEGER NOT NULL,
    message VARCHAR NOT NULL
);

-- Sequential gates remember their earlier looks.
CREATE TABLE IF NOT EXISTS gate_looks (
    benchmark VARCHAR NOT NULL,
    system VARCHAR NOT NULL,
    baseline VARCHAR NOT NULL,
    evaluator VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    look INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    first INTEGER NOT NULL,
    largest INTEGER NOT NULL,
    clusters UBIGINT[] NOT NULL,
    sums DOUBLE[] NOT NULL,
    counts INTEGER[] NOT NULL,
    looked_at TIMESTAMP NOT NULL
);

-- The leaderboard shows the verdict of the gates.
ALTER TABLE leaderboard ADD COLUMN IF NOT EXISTS gate VARCHAR;

-- Views of problems and failures read the ends of the scale where there is no threshold.
ALTER TABLE leaderboard ADD COLUMN IF NOT EXISTS best_value DOUBLE;
ALTER TABLE leaderboard ADD COLUMN IF NOT EXISTS worst_value DOUBLE;

-- The order of metrics, and the metric that orders systems.
ALTER TABLE leaderboard ADD COLUMN IF NOT EXISTS is_headline INTEGER;
ALTER TABLE leaderboard ADD COLUMN IF NOT EXISTS position INTEGER;

-- Unequal clusters, many slices, and interactions of slices with systems.
ALTER TABLE leaderboard ADD COLUMN IF NOT EXISTS effective_clusters DOUBLE;
ALTER TABLE leaderboard ADD COLUMN IF NOT EXISTS shrunken_mean DOUBLE;
ALTER TABLE comparisons ADD COLUMN IF NOT EXISTS p_interaction DOUBLE;

-- The value of a calibration error that noise alone gives.
ALTER TABLE leaderboard ADD COLUMN IF NOT EXISTS chance DOUBLE;

-- Calibration says why a value is missing, and how many labels are.
ALTER TABLE calibration ADD COLUMN IF NOT EXISTS reason VARCHAR;
ALTER TABLE calibration ADD COLUMN IF NOT EXISTS labels_needed BIGINT;

-- Force a new aggregation, which fills new columns.
DELETE FROM marks WHERE stage = 'leaderboard';
