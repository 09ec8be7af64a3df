-- Errors and warnings by rule, with how long they have been there.
WITH
  begun AS (SELECT repository, min(run) AS run FROM repositories WHERE status <> 'failed' GROUP BY repository),
  seen AS (SELECT repository, fingerprint, min(run) AS run FROM findings GROUP BY repository, fingerprint),
  dated AS (
    SELECT findings.rule, findings.severity, findings.repository, findings.fix, seen.run AS since,
      started::TIMESTAMP AS since_time, seen.run = begun.run AS is_since_first
    FROM findings
    JOIN seen USING (repository, fingerprint)
    JOIN begun USING (repository)
    JOIN runs ON runs.run = seen.run
    WHERE findings.run = getvariable('now') AND severity <> 'info'
  )
SELECT
  rule, severity,
  count(*) AS findings,
  count(DISTINCT repository) AS repositories,
  count_if(since = getvariable('now') AND NOT is_since_first) AS new,
  count_if(fix <> '') AS fixable,
  count_if(since_time <= (SELECT started::TIMESTAMP - INTERVAL 30 DAY FROM runs WHERE run = getvariable('now'))) AS old,
  strftime(min(since_time), '%Y-%m-%d') AS since,
  arg_min(is_since_first, since) AS is_since_first
FROM dated
GROUP BY rule, severity
ORDER BY severity, findings DESC, rule
