-- Repositories that were not checked, or in part.
SELECT repository, owner, status, reason, attempts
FROM repositories WHERE run = getvariable('now') AND status <> 'checked'
ORDER BY status, repository
