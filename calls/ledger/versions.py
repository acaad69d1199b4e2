"""The tables of the ledger, and what leads from earlier versions to them."""

from __future__ import annotations

from typing import Final

VERSION: Final = 3
"""The version of the tables."""

TABLES: Final = """
CREATE TABLE ledger_store (id TEXT NOT NULL, version INTEGER NOT NULL, seq BIGINT NOT NULL);

CREATE TABLE ledger_judgments (
    digest TEXT PRIMARY KEY, model TEXT NOT NULL, parameters TEXT, messages TEXT NOT NULL,
    reply_schema TEXT, replicate INTEGER NOT NULL, reply TEXT, status TEXT NOT NULL, error TEXT,
    attempts INTEGER, tokens_in BIGINT, tokens_out BIGINT, cost_usd DOUBLE PRECISION,
    latency_s DOUBLE PRECISION, judged_at TEXT NOT NULL, run_id TEXT,
    replaced_tokens_in BIGINT, replaced_tokens_out BIGINT, replaced_usd DOUBLE PRECISION,
    checksum TEXT, seq BIGINT NOT NULL
);

CREATE INDEX ledger_judgments_seq ON ledger_judgments (seq);

CREATE TABLE ledger_asks (
    benchmark TEXT, system TEXT, question_id TEXT, evaluator TEXT, step INTEGER,
    digest TEXT NOT NULL, repeat INTEGER, member INTEGER, replicate INTEGER, turn INTEGER,
    seq BIGINT NOT NULL,
    PRIMARY KEY (benchmark, system, question_id, evaluator, repeat, member, replicate, turn, step)
);

CREATE TABLE ledger_owners (
    owner TEXT PRIMARY KEY, beats BIGINT NOT NULL, pid INTEGER NOT NULL, machine TEXT NOT NULL,
    host TEXT NOT NULL
);

CREATE TABLE ledger_claims (digest TEXT PRIMARY KEY, owner TEXT NOT NULL);

CREATE TABLE ledger_reservations (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, run_id TEXT NOT NULL, usd DOUBLE PRECISION NOT NULL
);

CREATE TABLE ledger_spending (
    run_id TEXT, hour TEXT, usd DOUBLE PRECISION NOT NULL, PRIMARY KEY (run_id, hour)
);

CREATE TABLE ledger_rates (
    name TEXT PRIMARY KEY, free_at DOUBLE PRECISION NOT NULL, spacing DOUBLE PRECISION NOT NULL
);
"""
"""A row of `ledger_judgments` or `ledger_asks` has the number `seq` of its transaction.

Every transaction that writes takes the next number first. That row is a lock, so the numbers are
in the order of commits.
"""


_ADD_REPLACED: Final = """
ALTER TABLE ledger_judgments ADD COLUMN replaced_tokens_in BIGINT;
ALTER TABLE ledger_judgments ADD COLUMN replaced_tokens_out BIGINT;
ALTER TABLE ledger_judgments ADD COLUMN replaced_usd DOUBLE PRECISION;
ALTER TABLE ledger_judgments ADD COLUMN checksum TEXT;
"""

_SPLIT_STEPS: Final = """
CREATE TABLE ledger_asks_by_column (
    benchmark TEXT, system TEXT, question_id TEXT, evaluator TEXT, step INTEGER,
    digest TEXT NOT NULL, repeat INTEGER, member INTEGER, replicate INTEGER, turn INTEGER,
    seq BIGINT NOT NULL,
    PRIMARY KEY (benchmark, system, question_id, evaluator, repeat, member, replicate, turn, step)
);
INSERT INTO ledger_asks_by_column
    SELECT benchmark, system, question_id, evaluator, step % 100000, digest,
        step / 2000000, step % 2000000 / 100000, coalesce((
            SELECT replicate / 1000 FROM ledger_judgments AS j WHERE j.digest = a.digest
        ), 0), 0, seq
    FROM ledger_asks AS a;
DROP TABLE ledger_asks;
ALTER TABLE ledger_asks_by_column RENAME TO ledger_asks;
"""
"""Version 2 counted the first call of member `m` for answer `r` as 2,000,000 r + 100,000 m."""

UPGRADES: Final = ((2, _ADD_REPLACED), (3, _SPLIT_STEPS))
"""The versions of the tables, and what leads to each."""
