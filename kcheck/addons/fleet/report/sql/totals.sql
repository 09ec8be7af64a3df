-- What the first and the last run of a trend say of the repositories that both have checked.
WITH
  ends AS (SELECT unnest([getvariable('first'), getvariable('run')]) AS run),
  same AS (
    SELECT repository FROM repositories JOIN ends USING (run)
    WHERE status = 'checked' GROUP BY repository HAVING count(*) = 2
  ),
  checked AS (
    SELECT run, count(*) AS repositories, sum(errors) AS errors, sum(warnings) AS warnings
    FROM repositories JOIN ends USING (run) JOIN same USING (repository) GROUP BY run
  ),
  found AS (
    SELECT run, count(*) FILTER (state = 'stops') AS stops, count(*) FILTER (state = 'unknown') AS unknown
    FROM clusters JOIN ends USING (run) JOIN same USING (repository) GROUP BY run
  )
SELECT repositories, errors, warnings, coalesce(stops, 0) AS stops, coalesce(unknown, 0) AS unknown
FROM checked LEFT JOIN found USING (run) ORDER BY run
