-- How many limits that clusters share may be over.
SELECT count(*) AS number FROM shared_limits WHERE run = getvariable('now') AND state = 'unknown'
