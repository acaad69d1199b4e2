-- How the samples that people label were chosen.
ALTER TABLE labels ADD COLUMN IF NOT EXISTS selection VARCHAR;
