-- What one simulated run of each cluster wastes, by owner, or by repository.
SELECT
  CASE getvariable('by') WHEN 'owner' THEN owner ELSE repository END AS name,
  count(*) AS clusters,
  coalesce(sum(waste_least) FILTER (waste_state = 'known'), 0) AS waste_least,
  coalesce(sum(waste_most) FILTER (waste_state = 'known'), 0) AS waste_most,
  count_if(waste_state = 'known') AS priced,
  count_if(waste_state = 'unpriced') AS unpriced,
  coalesce(sum(waste_hours_least) FILTER (waste_state = 'unpriced'), 0) AS hours_least,
  coalesce(sum(waste_hours_most) FILTER (waste_state = 'unpriced'), 0) AS hours_most,
  count_if(waste_state = 'nothing') AS nothing,
  count_if(waste_state = 'unknown') AS unknown
FROM clusters JOIN repositories USING (run, repository)
WHERE run = getvariable('now')
GROUP BY ALL
HAVING count_if(waste_state <> 'nothing') > 0
ORDER BY waste_most DESC, waste_least DESC, hours_most DESC, unknown DESC, name
