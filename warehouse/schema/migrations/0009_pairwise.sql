-- Systems whose answers a judge compares with each other.
CREATE TABLE IF NOT EXISTS pairwise (
    benchmark VARCHAR NOT NULL,
    evaluator VARCHAR NOT NULL,
    system_a VARCHAR NOT NULL,
    system_b VARCHAR NOT NULL,
    wins_a BIGINT NOT NULL,
    wins_b BIGINT NOT NULL,
    ties BIGINT NOT NULL,
    n_judged BIGINT NOT NULL,
    n_changed BIGINT NOT NULL,
    prefers_first BIGINT NOT NULL,
    prefers_second BIGINT NOT NULL,
    signature VARCHAR NOT NULL
);
