-- Repositories whose check took longest, of those that this run checked.
SELECT repository, seconds, memory, files
FROM repositories WHERE run = getvariable('now') AND NOT is_unchanged
ORDER BY seconds DESC, repository
