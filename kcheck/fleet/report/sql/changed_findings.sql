-- How many findings are new since the run before, and how many are gone.
SELECT
  count_if(is_new AND severity = 'error') AS new_errors,
  count_if(is_new AND severity = 'warning') AS new_warnings,
  count_if(is_new AND severity = 'info') AS new_infos,
  count_if(NOT is_new AND severity = 'error') AS gone_errors,
  count_if(NOT is_new AND severity = 'warning') AS gone_warnings,
  count_if(NOT is_new AND severity = 'info') AS gone_infos
FROM (SELECT severity, true AS is_new FROM new_findings UNION ALL SELECT severity, false FROM gone_findings)
