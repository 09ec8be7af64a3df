-- What would decide whether shared limits are exceeded, and of how many.
SELECT part AS note, count(*) AS limits
FROM (SELECT unnest(string_split(note, '; ')) AS part FROM query_shared WHERE state = 'unknown')
WHERE part <> '' GROUP BY part ORDER BY limits DESC, part
