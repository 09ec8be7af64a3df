-- The run before; `is_older`: some repositories are compared with an older one, as it did not check them.
SELECT run, strftime(started::TIMESTAMP, '%Y-%m-%d %H:%M') AS started, version,
  EXISTS (SELECT 1 FROM query_changes WHERE since <> '' AND since < runs.run) AS is_older
FROM runs WHERE run < getvariable('run') ORDER BY run DESC LIMIT 1
