-- Clusters that stop before their target, the smallest share of it first.
SELECT
  clusters.name AS cluster, environment, cloud, clusters.repository, owner, reach, first_limit, move, clusters.path, line,
  share(state, reaches, first_limit_at, target) AS share
FROM clusters JOIN repositories USING (run, repository)
WHERE run = getvariable('now') AND state = 'stops'
ORDER BY share, target DESC, clusters.repository, cluster, environment
