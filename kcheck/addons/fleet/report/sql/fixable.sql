-- How many findings fixes of a class would remove.
SELECT fix, sum(findings) AS findings FROM query_fixable GROUP BY fix
ORDER BY list_position(['safe', 'costs', 'unsafe'], fix)
