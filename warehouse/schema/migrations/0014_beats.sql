-- How many systems a system is significantly better than.
ALTER TABLE leaderboard ADD COLUMN IF NOT EXISTS beats INTEGER;
