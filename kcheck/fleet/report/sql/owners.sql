-- The owners of a run.
SELECT DISTINCT owner AS name FROM fleet.main.repositories WHERE run = getvariable('now') AND owner <> '' ORDER BY name
