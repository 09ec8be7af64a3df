-- Which clusters stop before their target, and which limit stops them first?
-- The worst first; clusters whose target or reach is not known come last. A limit that is not before the target has no
-- move.
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
    round(100.0 * c.reaches / nullif(c.target, 0), 1) AS percent,
    c.reach,
    c.first_limit,
    c.move
FROM clusters AS c
JOIN last USING (run)
JOIN repositories AS r USING (run, repository)
ORDER BY
    CASE c.state WHEN 'stops' THEN 0 WHEN 'reaches' THEN 1 ELSE 2 END,
    c.reaches / nullif(c.target, 0) NULLS LAST,
    c.target DESC NULLS LAST,
    c.repository,
    c.cluster;
