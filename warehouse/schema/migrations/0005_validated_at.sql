-- Results of expectations say when they were found.
ALTER TABLE validations ADD COLUMN IF NOT EXISTS validated_at TIMESTAMP;
