-- Limits that clusters share, and of which they need more than there is.
SELECT kind, account, region, key, name, unit, needed, is_exact, "limit", clusters, note
FROM shared_limits
WHERE run = getvariable('now') AND state = 'over'
ORDER BY needed / nullif("limit", 0) DESC NULLS FIRST, kind, account, region, key
