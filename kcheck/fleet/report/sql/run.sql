-- What the run says of all repositories and clusters that are asked for.
WITH
  last AS (SELECT max(run) AS run FROM runs),
  checked AS (
    SELECT
      count(*) AS repositories,
      count_if(is_unchanged) AS unchanged,
      count_if(status = 'failed') AS failed,
      count_if(status = 'partly') AS partly,
      sum(errors) AS errors,
      sum(warnings) AS warnings,
      sum(infos) AS infos,
      sum(undecided) AS undecided
    FROM repositories JOIN last USING (run)
  ),
  found AS (
    SELECT
      count(*) AS clusters,
      count_if(state = 'reaches') AS reaches,
      count_if(state = 'stops') AS stops,
      count_if(state = 'unknown') AS unknown,
      count_if(state = 'unknown' AND missing = '') AS unexplained,
      coalesce(sum(waste_least) FILTER (waste_state = 'known'), 0) AS waste_least,
      coalesce(sum(waste_most) FILTER (waste_state = 'known'), 0) AS waste_most,
      count_if(waste_state = 'known') AS priced,
      count_if(waste_state = 'unpriced') AS unpriced,
      coalesce(sum(waste_hours_least) FILTER (waste_state = 'unpriced'), 0) AS hours_least,
      coalesce(sum(waste_hours_most) FILTER (waste_state = 'unpriced'), 0) AS hours_most,
      count_if(waste_state = 'unknown') AS waste_unknown
    FROM clusters JOIN last USING (run)
  )
SELECT
  runs.run, strftime(started::TIMESTAMP, '%Y-%m-%d %H:%M') AS started, seconds, version, engine, workers,
  checked.*, found.*
FROM runs JOIN last USING (run) CROSS JOIN checked CROSS JOIN found
