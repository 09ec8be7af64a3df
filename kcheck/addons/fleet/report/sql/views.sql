-- The tables as a report sees them: up to the run that is asked for, and of the owner that is asked for. The views have
-- the names of the tables, so that each query of `kcheck fleet query` answers for these.
CREATE TEMP VIEW repositories AS
SELECT * REPLACE (CASE WHEN getvariable('by') = 'repository' THEN repository ELSE owner END AS owner)
FROM fleet.main.repositories
WHERE run <= getvariable('run') AND (getvariable('owner') = '' OR fleet.main.repositories.owner = getvariable('owner'));

CREATE TEMP VIEW runs AS
SELECT one.* REPLACE (own.repositories AS repositories, own.unchanged AS unchanged, own.failed AS failed)
FROM fleet.main.runs AS one
JOIN (
  SELECT
    run,
    count(*) AS repositories,
    count(*) FILTER (is_unchanged) AS unchanged,
    count(*) FILTER (status = 'failed') AS failed
  FROM temp.main.repositories GROUP BY run
) AS own USING (run);

CREATE TEMP VIEW clusters AS
SELECT * FROM fleet.main.clusters SEMI JOIN temp.main.repositories USING (run, repository);

CREATE TEMP VIEW limits AS
SELECT * FROM fleet.main.limits SEMI JOIN temp.main.repositories USING (run, repository);

CREATE TEMP VIEW findings AS
SELECT * FROM fleet.main.findings SEMI JOIN temp.main.repositories USING (run, repository);

CREATE TEMP VIEW undecided AS
SELECT * FROM fleet.main.undecided SEMI JOIN temp.main.repositories USING (run, repository);

CREATE TEMP VIEW uses AS
SELECT * FROM fleet.main.uses SEMI JOIN temp.main.repositories USING (run, repository);

CREATE TEMP VIEW shared_limits AS
SELECT * FROM fleet.main.shared_limits AS shared
WHERE run <= getvariable('run') AND (getvariable('owner') = '' OR EXISTS (
  SELECT 1 FROM temp.main.repositories AS own
  WHERE own.run = shared.run
    AND len(list_filter(shared.clusters, lambda name: starts_with(name, own.repository || ':'))) > 0
));
