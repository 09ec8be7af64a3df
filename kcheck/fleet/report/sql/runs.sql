-- What each run says of all clusters.
WITH
  checked AS (
    SELECT
      run,
      count(*) AS repositories,
      count_if(is_unchanged) AS unchanged,
      count_if(status = 'failed') AS failed,
      count_if(status = 'partly') AS partly,
      sum(errors) AS errors,
      sum(warnings) AS warnings,
      sum(infos) AS infos,
      sum(undecided) AS undecided
    FROM repositories GROUP BY run
  ),
  found AS (
    SELECT
      run,
      count(*) AS clusters,
      count_if(state = 'reaches') AS reaches,
      count_if(state = 'stops') AS stops,
      count_if(state = 'unknown') AS unknown,
      sum(waste_least) FILTER (waste_state = 'known') AS waste_least,
      sum(waste_most) FILTER (waste_state = 'known') AS waste_most,
      count_if(waste_state = 'known') AS priced,
      count_if(waste_state = 'unpriced') AS unpriced,
      sum(waste_hours_least) FILTER (waste_state = 'unpriced') AS hours_least,
      sum(waste_hours_most) FILTER (waste_state = 'unpriced') AS hours_most,
      count_if(waste_state = 'unknown') AS waste_unknown
    FROM clusters GROUP BY run
  )
SELECT
  run, strftime(started::TIMESTAMP, '%Y-%m-%d %H:%M') AS started, seconds, version, engine, workers,
  checked.repositories, checked.unchanged, checked.failed, partly, errors, warnings, infos, undecided,
  coalesce(clusters, 0) AS clusters, coalesce(reaches, 0) AS reaches, coalesce(stops, 0) AS stops,
  coalesce(unknown, 0) AS unknown, coalesce(waste_least, 0) AS waste_least, coalesce(waste_most, 0) AS waste_most,
  coalesce(priced, 0) AS priced, coalesce(unpriced, 0) AS unpriced, coalesce(hours_least, 0) AS hours_least,
  coalesce(hours_most, 0) AS hours_most, coalesce(waste_unknown, 0) AS waste_unknown
FROM runs JOIN checked USING (run) LEFT JOIN found USING (run)
ORDER BY run DESC
