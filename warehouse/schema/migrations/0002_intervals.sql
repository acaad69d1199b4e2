-- Leaderboards say how an interval was found and how many clusters it rests on.
ALTER TABLE leaderboard ADD COLUMN IF NOT EXISTS ci_method VARCHAR;
ALTER TABLE leaderboard ADD COLUMN IF NOT EXISTS n_clusters BIGINT;

-- Comparisons were described in version 1, and never written.
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

-- Both come of folding the scores once more.
DELETE FROM marks WHERE stage = 'leaderboard';
