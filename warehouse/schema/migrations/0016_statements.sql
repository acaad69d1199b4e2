-- Marks and p-values that are corrected for all statements of a page.
ALTER TABLE leaderboard ADD COLUMN IF NOT EXISTS mark VARCHAR;
ALTER TABLE leaderboard ADD COLUMN IF NOT EXISTS threshold_p DOUBLE;
ALTER TABLE comparisons ADD COLUMN IF NOT EXISTS p_page DOUBLE;
ALTER TABLE leaderboard ADD COLUMN IF NOT EXISTS n_statements BIGINT;
