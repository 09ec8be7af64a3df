-- Which repositories failed or were checked in part, and which of the others are slow?
-- All repositories that are not fully checked, and the 20 slowest others; the time is of their last real check, not of
-- a run that found them unchanged.
WITH last AS (SELECT max(run) AS run FROM runs),
checks AS (
    SELECT
        repository,
        max(run) FILTER (status = 'checked') AS last_checked,
        arg_max(seconds, run) FILTER (NOT is_unchanged) AS seconds,
        arg_max(cpu_seconds, run) FILTER (NOT is_unchanged) AS cpu_seconds,
        arg_max(memory, run) FILTER (NOT is_unchanged) AS memory
    FROM repositories
    GROUP BY repository
)
SELECT
    r.status,
    r.owner,
    r.repository,
    r.reason,
    r.attempts,
    round(c.seconds, 2) AS seconds,
    round(c.cpu_seconds, 2) AS cpu_seconds,
    c.memory // 1048576 AS mebibytes,
    r.files,
    coalesce(c.last_checked, 'never') AS last_checked
FROM repositories AS r
JOIN last USING (run)
JOIN checks AS c USING (repository)
QUALIFY r.status <> 'checked'
    OR row_number() OVER (PARTITION BY r.status ORDER BY c.seconds DESC NULLS LAST, r.repository) <= 20
ORDER BY list_position(['failed', 'partly', 'checked'], r.status), c.seconds DESC NULLS LAST, r.repository;
