-- What lost and failed answers mean where questions have several.
ALTER TABLE grades ADD COLUMN IF NOT EXISTS values_low DOUBLE[];
ALTER TABLE grades ADD COLUMN IF NOT EXISTS values_high DOUBLE[];
ALTER TABLE grades ADD COLUMN IF NOT EXISTS has_failed BOOLEAN[];
-- The next run combines such answers again.
UPDATE answer_grades SET input_digest = 0 WHERE statuses IS NOT NULL;
