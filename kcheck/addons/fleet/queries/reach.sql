-- Which clusters stop before their target, and which limit stops them first?
-- The worst clusters come first, clusters with an unknown target or reach last. If reaches is unknown, percent_at_most
-- is computed from first_limit_at. A limit that is not before the target has no move.
WITH last AS (SELECT max(run) AS run FROM runs)
SELECT
    r.owner,
    c.repository,
    c.name AS cluster,
    c.environment,
    c.cloud,
    c.state,
    c.reaches,
    c.target,
    CASE
        WHEN c.state <> 'unknown'
        THEN round(100.0 * coalesce(c.reaches, c.first_limit_at) / nullif(c.target, 0), 1)
    END AS percent_at_most,
    c.reach,
    c.first_limit,
    c.move
FROM clusters AS c
JOIN last USING (run)
JOIN repositories AS r USING (run, repository)
ORDER BY
    CASE c.state WHEN 'stops' THEN 0 WHEN 'reaches' THEN 1 ELSE 2 END,
    percent_at_most NULLS LAST,
    c.target DESC NULLS LAST,
    c.repository,
    c.cluster;
