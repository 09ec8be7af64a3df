-- Clusters that became worse or better, and those that turn out to stop.
SELECT moved.* EXCLUDE (cluster, name, state, share), moved.name AS cluster, repositories.owner
FROM moved JOIN repositories ON repositories.repository = moved.repository AND repositories.run = getvariable('now')
WHERE change IN ('worse', 'better') OR (change IN ('decided', 'added') AND state = 'stops')
ORDER BY change = 'better', share, moved.repository, moved.cluster, moved.environment
