-- Systems that were asked different questions.
ALTER TABLE predictions ADD COLUMN IF NOT EXISTS not_asked INTEGER;
ALTER TABLE leaderboard ADD COLUMN IF NOT EXISTS n_not_asked BIGINT;
ALTER TABLE leaderboard ADD COLUMN IF NOT EXISTS n_common BIGINT;
ALTER TABLE leaderboard ADD COLUMN IF NOT EXISTS common_mean DOUBLE;

-- Force a new aggregation, which fills new columns.
DELETE FROM marks WHERE stage = 'leaderboard';
