-- Panels of judges.
CREATE TABLE IF NOT EXISTS panel (
    benchmark VARCHAR NOT NULL,
    evaluator VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    n BIGINT NOT NULL,
    alpha DOUBLE,
    alpha_low DOUBLE,
    alpha_high DOUBLE,
    agreement MAP(VARCHAR, DOUBLE) NOT NULL
);

CREATE TABLE IF NOT EXISTS panel_calibration (
    benchmark VARCHAR NOT NULL,
    evaluator VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    member VARCHAR NOT NULL,
    is_regular INTEGER NOT NULL,
    n_compared BIGINT NOT NULL,
    agreement DOUBLE,
    constant_agreement DOUBLE,
    base_rate DOUBLE,
    kappa DOUBLE,
    kappa_low DOUBLE,
    kappa_high DOUBLE,
    true_positive_rate DOUBLE,
    true_negative_rate DOUBLE,
    labels_needed BIGINT,
    is_calibrated INTEGER NOT NULL,
    calibrated_at TIMESTAMP NOT NULL
);
