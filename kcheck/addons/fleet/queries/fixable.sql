-- Which findings could `kcheck fix` fix today, by team and class of fix?
-- Safe fixes need no decision; those that cost change the bill or the behaviour; with unsafe ones Terraform replaces
-- something, or pods that run today may not start.
WITH last AS (SELECT max(run) AS run FROM runs)
SELECT
    r.owner,
    f.fix,
    count(*) AS findings,
    count(*) FILTER (f.severity = 'error') AS errors,
    count(*) FILTER (f.waste) AS about_money,
    count(DISTINCT f.repository) AS repositories,
    list_aggregate(list_sort(list(DISTINCT f.rule))[:5], 'string_agg', ', ') AS first_five_rules
FROM findings AS f
JOIN last USING (run)
JOIN repositories AS r USING (run, repository)
WHERE f.fix <> ''
GROUP BY r.owner, f.fix
ORDER BY findings DESC, owner, list_position(['safe', 'costs', 'unsafe'], f.fix);
