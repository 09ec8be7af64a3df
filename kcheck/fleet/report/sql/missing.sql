-- The inputs without which it is not known how far clusters get.
SELECT
  missing, remedy,
  count(*) AS clusters,
  count(DISTINCT repository) AS repositories,
  list_slice(list_sort(list(DISTINCT repository)), 1, 3) AS names
FROM clusters
WHERE run = getvariable('now') AND state = 'unknown'
GROUP BY missing, remedy
ORDER BY clusters DESC, repositories DESC, missing, remedy
