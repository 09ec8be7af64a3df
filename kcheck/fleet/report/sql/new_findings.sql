-- Errors and warnings that are new since the run before.
SELECT severity, rule, message, repository, path, line
FROM new_findings WHERE severity <> 'info'
ORDER BY severity, rule, repository, path, line, message
