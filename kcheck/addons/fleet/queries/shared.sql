-- Which limits that clusters share are exceeded when all reach their targets, and who takes most of them?
-- Exceeded limits come first, then undecided ones. If needed_is_exact is false, clusters
-- may need more.
WITH last AS (SELECT max(run) AS run FROM runs)
SELECT
    s.state,
    s.kind,
    s.name,
    s.account,
    s.region,
    s.needed,
    s.is_exact AS needed_is_exact,
    s.available,
    s.unit,
    round(100.0 * s.needed / nullif(s.available, 0), 1) AS percent,
    len(s.clusters) AS clusters,
    list_aggregate(s.clusters[:3], 'string_agg', ', ') AS takes_most,
    s.note
FROM shared_limits AS s
JOIN last USING (run)
ORDER BY
    list_position(['over', 'unknown', 'fits'], s.state),
    s.needed / nullif(s.available, 0) DESC NULLS LAST,
    s.kind, s.account, s.region, s.key;
