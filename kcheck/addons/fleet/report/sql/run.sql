-- What the run says of all repositories and clusters that are asked for.
WITH
  last AS (SELECT max(run) AS run FROM runs),
  checked AS (
    SELECT
      count(*) FILTER (status = 'partly') AS partly,
      sum(errors) AS errors,
      sum(warnings) AS warnings,
      sum(infos) AS infos,
      sum(undecided) AS undecided
    FROM repositories JOIN last USING (run)
  ),
  found AS (
    SELECT
      count(*) AS clusters,
      count(*) FILTER (state = 'reaches') AS reaches,
      count(*) FILTER (state = 'stops') AS stops,
      count(*) FILTER (state = 'unknown') AS unknown,
      count(*) FILTER (state = 'unknown' AND missing = '') AS unexplained,
      coalesce(sum(waste_least) FILTER (waste_state = 'known'), 0) AS waste_least,
      coalesce(sum(waste_most) FILTER (waste_state = 'known'), 0) AS waste_most,
      count(*) FILTER (waste_state = 'known') AS priced,
      count(*) FILTER (waste_state = 'unpriced') AS unpriced,
      coalesce(sum(waste_hours_least) FILTER (waste_state = 'unpriced'), 0) AS hours_least,
      coalesce(sum(waste_hours_most) FILTER (waste_state = 'unpriced'), 0) AS hours_most,
      count(*) FILTER (waste_state = 'unknown') AS waste_unknown
    FROM clusters JOIN last USING (run)
  )
SELECT
  runs.run, strftime(started::TIMESTAMP, '%Y-%m-%d %H:%M') AS started, seconds, version, engine, workers,
  repositories, unchanged, failed,
  checked.*, found.*
FROM runs JOIN last USING (run) CROSS JOIN checked CROSS JOIN found
