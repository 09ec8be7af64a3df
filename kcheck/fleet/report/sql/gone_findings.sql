-- Errors and warnings that are gone since the run before.
SELECT severity, rule, message, repository, path, line
FROM gone_findings WHERE severity <> 'info'
ORDER BY severity, rule, repository, path, line, message
