-- Results of expectations get a timestamp.
ALTER TABLE validations ADD COLUMN IF NOT EXISTS validated_at TIMESTAMP;
