-- Is it getting better: how many clusters stop, how many findings are there and what is wasted, run by run?
-- If a run could not check a repository, no other number counts its clusters. clusters_not_seen is their number at the
-- repository's last check.
WITH counted AS (
    SELECT
        run,
        count(*) AS clusters,
        count(*) FILTER (state = 'stops') AS stop,
        count(*) FILTER (state = 'reaches') AS reach,
        count(*) FILTER (state = 'unknown') AS unknown,
        round(sum(CASE waste_state WHEN 'known' THEN waste_least::DECIMAL(18, 3) WHEN 'nothing' THEN 0 END), 2)::DOUBLE
            AS wasted_dollars_at_least,
        round(sum(CASE waste_state WHEN 'known' THEN waste_most::DECIMAL(18, 3) WHEN 'nothing' THEN 0 END), 2)::DOUBLE
            AS wasted_dollars_at_most,
        count(*) FILTER (waste_state IN ('unpriced', 'unknown')) AS clusters_with_unknown_waste
    FROM clusters
    GROUP BY run
),
sizes AS (
    SELECT r.run, r.repository, count(c.cluster) AS clusters
    FROM repositories AS r
    LEFT JOIN clusters AS c USING (run, repository)
    WHERE r.status <> 'failed'
    GROUP BY ALL
),
missed AS (
    SELECT f.run, sum(s.clusters) AS clusters
    FROM repositories AS f
    ASOF JOIN sizes AS s ON s.repository = f.repository AND f.run > s.run
    WHERE f.status = 'failed'
    GROUP BY f.run
),
found AS (
    SELECT run, sum(errors) AS errors, sum(warnings) AS warnings, sum(undecided) AS undecided
    FROM repositories
    GROUP BY run
)
SELECT
    r.run,
    r.started,
    r.repositories,
    r.failed,
    coalesce(c.clusters, 0) AS clusters,
    coalesce(m.clusters, 0)::BIGINT AS clusters_not_seen,
    coalesce(c.stop, 0) AS clusters_that_stop,
    coalesce(c.reach, 0) AS clusters_that_reach,
    coalesce(c.unknown, 0) AS clusters_unknown,
    round(100.0 * c.stop / nullif(c.stop + c.reach, 0), 1) AS percent_that_stop,
    coalesce(f.errors, 0)::BIGINT AS errors,
    coalesce(f.warnings, 0)::BIGINT AS warnings,
    coalesce(f.undecided, 0)::BIGINT AS undecided,
    c.wasted_dollars_at_least,
    c.wasted_dollars_at_most,
    coalesce(c.clusters_with_unknown_waste, 0) AS clusters_with_unknown_waste
FROM runs AS r
LEFT JOIN counted AS c USING (run)
LEFT JOIN found AS f USING (run)
LEFT JOIN missed AS m USING (run)
ORDER BY r.run;
