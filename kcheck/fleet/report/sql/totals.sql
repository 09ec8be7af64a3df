-- What two runs say of the repositories that both have checked.
WITH
  checked AS (
    SELECT run, count(*) AS repositories, sum(errors) AS errors, sum(warnings) AS warnings
    FROM repositories SEMI JOIN compared USING (repository)
    WHERE run IN (getvariable('before'), getvariable('now')) GROUP BY run
  ),
  found AS (
    SELECT run, count_if(state = 'stops') AS stops, count_if(state = 'unknown') AS unknown
    FROM clusters SEMI JOIN compared USING (repository)
    WHERE run IN (getvariable('before'), getvariable('now')) GROUP BY run
  )
SELECT checked.repositories, errors, warnings, coalesce(stops, 0) AS stops, coalesce(unknown, 0) AS unknown
FROM checked LEFT JOIN found USING (run) ORDER BY run
