-- Which repositories two runs have in common.
SELECT
  count_if(now.status = 'checked' AND before.status = 'checked') AS same,
  count_if(now.status <> 'checked' OR before.status <> 'checked')
    FILTER (now.status IS NOT NULL AND before.status IS NOT NULL) AS excluded,
  count_if(before.status IS NULL) AS added,
  count_if(now.status IS NULL) AS removed
FROM (SELECT * FROM repositories WHERE run = getvariable('now')) AS now
FULL JOIN (SELECT * FROM repositories WHERE run = getvariable('before')) AS before USING (repository)
