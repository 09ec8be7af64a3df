-- What does one simulated run on each cluster waste at least and at most, added up by team?
-- Sums cover clusters with a known waste, zero included; the others are counted separately, never as 0.
-- Clusters of one cloud, account, region and name that are in several places may be one cluster, counted more than once.
WITH last AS (SELECT max(run) AS run FROM runs),
own AS (
    SELECT
        r.owner,
        r.repository,
        r.status,
        c.* EXCLUDE (run, repository),
        c.account <> '' AND c.region <> ''
            AND count(*) OVER (PARTITION BY c.cloud, c.account, c.region, c.resource_group, c.name) > 1 AS is_twice
    FROM repositories AS r
    JOIN last USING (run)
    LEFT JOIN clusters AS c USING (run, repository)
)
SELECT
    owner,
    count(cluster) AS clusters,
    round(sum(CASE waste_state WHEN 'known' THEN waste_least::DECIMAL(18, 3) WHEN 'nothing' THEN 0 END), 2)::DOUBLE
        AS wasted_dollars_at_least,
    round(sum(CASE waste_state WHEN 'known' THEN waste_most::DECIMAL(18, 3) WHEN 'nothing' THEN 0 END), 2)::DOUBLE
        AS wasted_dollars_at_most,
    count(*) FILTER (waste_state = 'known') AS clusters_with_dollars,
    count(*) FILTER (waste_state = 'nothing') AS clusters_without_waste,
    count(*) FILTER (waste_state = 'unpriced') AS clusters_without_price,
    coalesce(round(sum(waste_hours_least) FILTER (waste_state = 'unpriced'), 1), 0) AS unpriced_node_hours_at_least,
    coalesce(round(sum(waste_hours_most) FILTER (waste_state = 'unpriced'), 1), 0) AS unpriced_node_hours_at_most,
    count(*) FILTER (waste_state = 'unknown') AS clusters_unknown,
    count(*) FILTER (is_twice) AS clusters_perhaps_counted_twice,
    count(DISTINCT repository) FILTER (status <> 'checked') AS repositories_not_fully_checked
FROM own
GROUP BY owner
ORDER BY wasted_dollars_at_most DESC NULLS LAST, unpriced_node_hours_at_most DESC NULLS LAST, owner;
