-- What has changed since each repository was last checked: clusters that got worse or better, new and gone findings?
-- A repository is compared with the last earlier run that checked all of it. A renamed repository stays the same: a name
-- that is no longer listed and had the same folder or commit. If a repository is not fully checked now, none of its
-- findings counts as gone.
WITH RECURSIVE last AS (SELECT max(run) AS run FROM runs),
previous AS (SELECT max(run) AS run FROM runs WHERE run < (FROM last)),
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
bases AS (
    SELECT n.repository, max(r.run) AS since, arg_max(r.repository, r.run) AS alias
    FROM names AS n
    JOIN repositories AS r ON r.repository = n.alias
    WHERE r.status = 'checked' AND r.run < (FROM last)
    GROUP BY ALL
),
compared AS (
    SELECT r.owner, r.repository, r.status, r.reason, b.since, b.alias
    FROM repositories AS r
    JOIN last USING (run)
    LEFT JOIN bases AS b USING (repository)
),
reached AS (
    SELECT *, coalesce(reaches, first_limit_at) / nullif(target, 0) AS share FROM clusters
),
new_clusters AS (
    SELECT p.owner, p.repository, p.status, p.since, c.cluster, c.name, c.environment, c.state, c.reach, c.share
    FROM compared AS p
    JOIN reached AS c USING (repository)
    JOIN last USING (run)
    WHERE p.since IS NOT NULL
),
old_clusters AS (
    SELECT p.owner, p.repository, p.status, p.since, c.cluster, c.name, c.environment, c.state, c.reach, c.share
    FROM compared AS p
    JOIN reached AS c ON c.run = p.since AND c.repository = p.alias
    WHERE p.status <> 'failed'
),
of_clusters AS (
    SELECT
        CASE
            WHEN o.cluster IS NULL THEN 'cluster new'
            WHEN n.cluster IS NULL THEN 'cluster gone'
            WHEN o.state = n.state AND n.share < o.share AND n.state = 'stops' THEN 'cluster worse'
            WHEN o.state = n.state AND n.share > o.share AND n.state = 'stops' THEN 'cluster better'
            WHEN o.state = n.state THEN NULL
            WHEN n.state = 'unknown' THEN 'cluster not known now'
            WHEN o.state = 'unknown' THEN 'cluster known now'
            WHEN n.state = 'stops' THEN 'cluster worse'
            ELSE 'cluster better'
        END AS change,
        coalesce(n.owner, o.owner) AS owner,
        coalesce(n.repository, o.repository) AS repository,
        concat_ws(' in ', coalesce(n.name, o.name), nullif(coalesce(n.environment, o.environment), '')) AS subject,
        coalesce(o.reach, '') AS before,
        coalesce(n.reach, '') AS now,
        coalesce(n.since, o.since) AS since
    FROM new_clusters AS n
    FULL JOIN old_clusters AS o ON o.repository = n.repository AND o.cluster = n.cluster
    WHERE n.cluster IS NOT NULL OR o.status = 'checked'
),
of_findings AS (
    SELECT
        'finding new' AS change, p.owner, p.repository, f.rule AS subject, '' AS before, f.message AS now, p.since,
        f.severity
    FROM compared AS p
    JOIN findings AS f USING (repository)
    JOIN last USING (run)
    ANTI JOIN findings AS o ON o.run = p.since AND o.repository = p.alias AND o.fingerprint = f.fingerprint
    WHERE p.since IS NOT NULL
    UNION ALL
    SELECT 'finding gone', p.owner, p.repository, o.rule, o.message, '', p.since, o.severity
    FROM compared AS p
    JOIN findings AS o ON o.run = p.since AND o.repository = p.alias
    ANTI JOIN (SELECT f.* FROM findings AS f JOIN last USING (run)) AS f
        ON f.repository = p.repository AND f.fingerprint = o.fingerprint
    WHERE p.status = 'checked'
),
of_repositories AS (
    SELECT
        CASE WHEN status <> 'checked' THEN 'repository not fully checked' ELSE 'repository new' END AS change,
        owner, repository, repository AS subject, '' AS before,
        CASE WHEN status = 'checked' THEN 'checked for the first time' ELSE reason END AS now,
        coalesce(since, '') AS since
    FROM compared
    WHERE status <> 'checked' OR since IS NULL
    UNION ALL
    SELECT 'repository renamed', owner, repository, repository, alias, repository, since
    FROM compared
    WHERE alias <> repository
    UNION ALL
    SELECT 'repository no longer listed', r.owner, r.repository, r.repository, '', '', r.run
    FROM repositories AS r
    JOIN previous USING (run)
    WHERE r.repository NOT IN (SELECT alias FROM names)
),
every AS (
    SELECT change, owner, repository, subject, '' AS severity, before, now, since FROM of_repositories
    UNION ALL
    SELECT change, owner, repository, subject, '', before, now, since FROM of_clusters WHERE change IS NOT NULL
    UNION ALL
    SELECT change, owner, repository, subject, severity, before, now, since FROM of_findings
)
SELECT change, severity, owner, repository, subject, before, now, since
FROM every
ORDER BY
    list_position([
        'repository not fully checked', 'cluster worse', 'cluster not known now', 'cluster new', 'finding new',
        'cluster better', 'cluster known now', 'cluster gone', 'finding gone',
        'repository new', 'repository renamed', 'repository no longer listed'
    ], change),
    list_position(['error', 'warning', 'info'], severity),
    repository, subject, before, now;
