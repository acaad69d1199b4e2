-- The leaderboard gets the method of the interval and the number of clusters.
ALTER TABLE leaderboard ADD COLUMN IF NOT EXISTS ci_method VARCHAR;
ALTER TABLE leaderboard ADD COLUMN IF NOT EXISTS n_clusters BIGINT;

-- Comparisons were described in version 1, but never written.
DROP TABLE IF EXISTS comparisons;
CREATE TABLE comparisons (
    benchmark VARCHAR NOT NULL,
    slice VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    evaluator VARCHAR NOT NULL,
    system_a VARCHAR NOT NULL,
    system_b VARCHAR NOT NULL,
    n_pairs BIGINT NOT NULL,
    n_clusters BIGINT NOT NULL,
    difference DOUBLE,
    ci_low DOUBLE,
    ci_high DOUBLE,
    p_value DOUBLE,
    p_adjusted DOUBLE,
    verdict VARCHAR NOT NULL,
    detectable_difference DOUBLE
);

-- Force a new aggregation, which fills both.
DELETE FROM marks WHERE stage = 'leaderboard';
