-- Which call of a sample a judge call is, in columns of its own. Before, the first call of member m
-- of a panel for answer r had the step 2,000,000 r + 100,000 m.
ALTER TABLE asks ADD COLUMN IF NOT EXISTS repeat INTEGER DEFAULT 0;
ALTER TABLE asks ADD COLUMN IF NOT EXISTS member INTEGER DEFAULT 0;
ALTER TABLE asks ADD COLUMN IF NOT EXISTS replicate INTEGER DEFAULT 0;
ALTER TABLE asks ADD COLUMN IF NOT EXISTS turn INTEGER DEFAULT 0;
UPDATE asks SET
    repeat = step // 2000000,
    member = step % 2000000 // 100000,
    step = step % 100000
WHERE step >= 100000;
UPDATE asks SET replicate = j.replicate // 1000
FROM judgments AS j
WHERE j.digest = asks.digest AND j.replicate >= 1000;
