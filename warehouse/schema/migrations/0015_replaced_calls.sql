-- What earlier outcomes of a call cost.
ALTER TABLE judgments ADD COLUMN IF NOT EXISTS replaced_tokens_in BIGINT;
ALTER TABLE judgments ADD COLUMN IF NOT EXISTS replaced_tokens_out BIGINT;
ALTER TABLE judgments ADD COLUMN IF NOT EXISTS replaced_usd DOUBLE;
