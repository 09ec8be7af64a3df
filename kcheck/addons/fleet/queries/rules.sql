-- Which rules find most, and how long have their findings been there?
-- A finding is as old as the first run that has its fingerprint in its repository. A renamed repository stays the same:
-- a name that is no longer listed and had the same folder or commit.
WITH RECURSIVE last AS (SELECT max(run) AS run FROM runs),
now AS (SELECT repository FROM repositories JOIN last USING (run)),
marks AS (
    SELECT DISTINCT repository, 'folder' AS kind, path AS mark FROM repositories
    UNION
    SELECT repository, 'commit', revision FROM repositories WHERE revision <> ''
),
links AS (
    SELECT DISTINCT a.repository, b.repository AS alias
    FROM marks AS a
    JOIN marks AS b USING (kind, mark)
    WHERE b.repository NOT IN (FROM now)
),
names AS (
    SELECT repository, repository AS alias FROM now
    UNION
    SELECT names.repository, links.alias FROM names JOIN links ON links.repository = names.alias
),
seen AS (
    SELECT names.repository, f.fingerprint, min(r.started) AS first_seen
    FROM names
    JOIN findings AS f ON f.repository = names.alias
    JOIN runs AS r USING (run)
    GROUP BY ALL
),
current AS (
    SELECT f.*, seen.first_seen, date_diff('day', seen.first_seen, r.started) AS days
    FROM findings AS f
    JOIN last USING (run)
    JOIN runs AS r USING (run)
    JOIN seen USING (repository, fingerprint)
)
SELECT
    rule,
    min_by(severity, list_position(['error', 'warning', 'info'], severity)) AS worst_severity,
    count(*) AS findings,
    count(DISTINCT repository) AS repositories,
    count(*) FILTER (fix <> '') AS with_fix,
    min(first_seen) AS oldest_first_seen,
    max(days) AS oldest_days,
    cast(round(median(days)) AS BIGINT) AS median_days
FROM current
GROUP BY rule
ORDER BY list_position(['error', 'warning', 'info'], worst_severity), findings DESC, rule;
