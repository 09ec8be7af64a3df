-- Inputs that checks and clusters wait for, with a place where one of them is.
SELECT missing, remedy, sum(clusters) AS clusters, sum(checks) AS checks, sum(repositories) AS repositories,
  min(example) AS example
FROM query_undecided GROUP BY missing, remedy
ORDER BY clusters DESC, repositories DESC, checks DESC, missing, remedy
