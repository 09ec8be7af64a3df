-- Kinds of limits that stop clusters first.
SELECT mechanism, sum(clusters) AS clusters FROM query_first_limits
GROUP BY ALL ORDER BY clusters DESC, mechanism LIMIT 5
