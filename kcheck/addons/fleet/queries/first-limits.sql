-- Which kinds of limit stop most clusters first, and how many nodes do they cost?
-- Each cluster that stops counts once, at the limit it hits first; recommendations do not count.
WITH last AS (SELECT max(run) AS run FROM runs),
stopped AS (
    SELECT c.repository, c.cluster, c.target, c.reaches
    FROM clusters AS c
    JOIN last USING (run)
    WHERE c.state = 'stops'
),
firsts AS (
    SELECT s.*, l.mechanism, l.kind, l.move, coalesce(l.nodes, l.at_most) AS nodes_at
    FROM stopped AS s
    JOIN limits AS l USING (repository, cluster)
    JOIN last USING (run)
    WHERE l.kind <> 'recommended' AND l.at_most IS NOT NULL
    QUALIFY row_number() OVER (
        PARTITION BY s.repository, s.cluster
        ORDER BY nodes_at, l.mechanism IN ('maximum', 'autoscaling'), l.kind, l.mechanism, l.scope
    ) = 1
)
SELECT
    mechanism,
    kind,
    count(*) AS clusters,
    count(DISTINCT repository) AS repositories,
    min(nodes_at) AS fewest_nodes,
    cast(sum(target - reaches) AS BIGINT) AS nodes_out_of_reach,
    count(*) FILTER (reaches IS NULL OR target IS NULL) AS clusters_whose_reach_is_a_bound,
    mode(move ORDER BY move) AS most_common_move
FROM firsts
GROUP BY mechanism, kind
ORDER BY clusters DESC, nodes_out_of_reach DESC NULLS LAST, mechanism;
