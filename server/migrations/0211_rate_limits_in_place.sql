-- rapport: no transaction
-- Each charge changes used_at. Without an index on it, PostgreSQL updates the row in its page and leaves nothing to vacuum.
-- Deleting unused buckets reads the whole table, which only has those of the last minutes.
drop index concurrently if exists rate_limits_used;
