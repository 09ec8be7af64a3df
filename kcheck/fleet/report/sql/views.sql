-- The tables as a report sees them: repositories of the owner that is asked for, up to the run that is asked for.
-- They have the names of the tables, so that each query of kcheck fleet query answers for these, too.
CREATE TEMP VIEW repositories AS
SELECT * FROM fleet.main.repositories
WHERE run <= getvariable('now') AND (getvariable('owner') = '' OR owner = getvariable('owner'));

CREATE TEMP VIEW runs AS
SELECT * FROM fleet.main.runs SEMI JOIN temp.main.repositories USING (run);

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
WHERE run <= getvariable('now') AND EXISTS (
  SELECT 1 FROM temp.main.repositories AS own
  WHERE own.run = shared.run
    AND len(list_filter(shared.clusters, lambda name: starts_with(name, own.repository || ':'))) > 0
);

-- What two runs can be compared by: repositories that both have checked to the end.
CREATE TEMP VIEW compared AS
SELECT repository FROM temp.main.repositories WHERE run = getvariable('now') AND status = 'checked'
INTERSECT
SELECT repository FROM temp.main.repositories WHERE run = getvariable('before') AND status = 'checked';

CREATE TEMP VIEW new_findings AS
SELECT * FROM (SELECT * FROM temp.main.findings SEMI JOIN temp.main.compared USING (repository) WHERE run = getvariable('now'))
ANTI JOIN (SELECT repository, fingerprint FROM temp.main.findings WHERE run = getvariable('before')) USING (repository, fingerprint);

CREATE TEMP VIEW gone_findings AS
SELECT * FROM (SELECT * FROM temp.main.findings SEMI JOIN temp.main.compared USING (repository) WHERE run = getvariable('before'))
ANTI JOIN (SELECT repository, fingerprint FROM temp.main.findings WHERE run = getvariable('now')) USING (repository, fingerprint);

-- How much of its target a cluster reaches; null where that is not known.
CREATE TEMP MACRO share(state, reaches, first_limit_at, target) AS
CASE state WHEN 'reaches' THEN 1.0 WHEN 'stops' THEN coalesce(reaches, first_limit_at) / nullif(target, 0) END;

-- Clusters of both runs with what became of them.
CREATE TEMP VIEW moved AS
SELECT
  now.cluster, now.name, now.environment, now.repository, now.first_limit, now.move, now.state,
  before.reach AS before, now.reach AS now,
  share(now.state, now.reaches, now.first_limit_at, now.target) AS share,
  CASE
    WHEN now.cluster IS NULL THEN 'removed'
    WHEN before.cluster IS NULL THEN 'added'
    WHEN now.state = 'unknown' AND before.state <> 'unknown' THEN 'undecided'
    WHEN now.state <> 'unknown' AND before.state = 'unknown' THEN 'decided'
    WHEN share(now.state, now.reaches, now.first_limit_at, now.target)
      < share(before.state, before.reaches, before.first_limit_at, before.target) THEN 'worse'
    WHEN share(now.state, now.reaches, now.first_limit_at, now.target)
      > share(before.state, before.reaches, before.first_limit_at, before.target) THEN 'better'
    ELSE 'same'
  END AS change
FROM (SELECT * FROM temp.main.clusters SEMI JOIN temp.main.compared USING (repository) WHERE run = getvariable('now')) AS now
FULL JOIN (SELECT * FROM temp.main.clusters SEMI JOIN temp.main.compared USING (repository) WHERE run = getvariable('before')) AS before
USING (repository, cluster, environment);
