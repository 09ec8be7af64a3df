-- Clusters that stop before their target, the smallest share of it first. Those that a repository makes alike, in
-- several root modules, are one row.
WITH last AS (SELECT max(run) AS run FROM runs)
SELECT
  c.name AS cluster, c.environment, c.repository, r.owner, c.reach, c.first_limit, c.move,
  coalesce(c.reaches, c.first_limit_at) / nullif(c.target, 0) AS share,
  count(*) AS clusters,
  min(concat(c.path, ':', c.line)) AS place
FROM clusters AS c JOIN last USING (run) JOIN repositories AS r USING (run, repository)
WHERE c.state = 'stops'
GROUP BY ALL
ORDER BY share, clusters DESC, c.repository, cluster, c.environment, c.first_limit
