-- Who is undecided and why: which inputs are missing, by team, and how can they be given?
-- The inputs that most checks and clusters wait for come first.
WITH last AS (SELECT max(run) AS run FROM runs),
waiting AS (
    SELECT DISTINCT repository, missing, remedy, path, line, rule, object, NULL AS cluster
    FROM undecided
    JOIN last USING (run)
    UNION ALL
    SELECT DISTINCT repository, missing, remedy, path, line, NULL, NULL, cluster
    FROM clusters
    JOIN last USING (run)
    WHERE missing <> ''
)
SELECT
    r.owner,
    w.missing,
    w.remedy,
    count(w.rule) AS checks,
    count(DISTINCT w.rule) AS rules,
    count(DISTINCT (w.repository, w.cluster)) FILTER (w.cluster IS NOT NULL) AS clusters,
    count(DISTINCT w.repository) AS repositories,
    min(w.repository || ': ' || w.path || ':' || w.line) AS example
FROM waiting AS w
JOIN last ON true
JOIN repositories AS r ON r.run = last.run AND r.repository = w.repository
GROUP BY ALL
ORDER BY clusters DESC, checks DESC, owner, missing, remedy;
