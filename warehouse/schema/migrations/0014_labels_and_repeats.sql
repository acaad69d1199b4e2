-- What lost and failed answers mean where questions have several.
ALTER TABLE grades ADD COLUMN IF NOT EXISTS values_low DOUBLE[];
ALTER TABLE grades ADD COLUMN IF NOT EXISTS values_high DOUBLE[];
ALTER TABLE grades ADD COLUMN IF NOT EXISTS has_failed BOOLEAN[];
-- The next run combines such answers again.
UPDATE answer_grades SET input_digest = 0 WHERE statuses IS NOT NULL;

-- How the samples that people label were drawn.
ALTER TABLE labels ADD COLUMN IF NOT EXISTS stratum VARCHAR;
ALTER TABLE labels ADD COLUMN IF NOT EXISTS stratum_size BIGINT;
ALTER TABLE labels ADD COLUMN IF NOT EXISTS probability DOUBLE;
ALTER TABLE calibration ADD COLUMN IF NOT EXISTS agreement_reason VARCHAR;
ALTER TABLE panel_calibration ADD COLUMN IF NOT EXISTS agreement_reason VARCHAR;
