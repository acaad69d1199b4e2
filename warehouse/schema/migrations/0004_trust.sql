-- Problems may concern a judge without a system; calibration has more columns; judge variance gets a
-- table. The first two were described before, but never written.
DROP TABLE IF EXISTS problems;
DROP TABLE IF EXISTS calibration;
CREATE TABLE problems (
    benchmark VARCHAR NOT NULL,
    system VARCHAR,
    evaluator VARCHAR,
    metric VARCHAR,
    kind VARCHAR NOT NULL,
    question_id VARCHAR,
    severity VARCHAR NOT NULL,
    value DOUBLE,
    threshold DOUBLE,
    message VARCHAR NOT NULL
);

CREATE TABLE calibration (
    benchmark VARCHAR NOT NULL,
    system VARCHAR NOT NULL,
    evaluator VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    method VARCHAR NOT NULL,
    n_labels BIGINT NOT NULL,
    n_compared BIGINT NOT NULL,
    n_annotators BIGINT NOT NULL,
    raw_mean DOUBLE,
    corrected_mean DOUBLE,
    ci_low DOUBLE,
    ci_high DOUBLE,
    agreement DOUBLE,
    constant_agreement DOUBLE,
    base_rate DOUBLE,
    kappa DOUBLE,
    kappa_low DOUBLE,
    kappa_high DOUBLE,
    weighted_kappa DOUBLE,
    alpha DOUBLE,
    correlation DOUBLE,
    true_positive_rate DOUBLE,
    true_negative_rate DOUBLE,
    is_calibrated INTEGER NOT NULL,
    calibrated_at TIMESTAMP NOT NULL
);

CREATE TABLE IF NOT EXISTS wobble (
    benchmark VARCHAR NOT NULL,
    evaluator VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    n_answers BIGINT NOT NULL,
    judge_variance DOUBLE NOT NULL,
    answer_variance DOUBLE NOT NULL,
    flip_rate DOUBLE NOT NULL,
    reliability DOUBLE
);

-- Force a new aggregation, which fills all of them.
DELETE FROM marks WHERE stage = 'leaderboard';
