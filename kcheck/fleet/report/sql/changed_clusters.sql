-- What became of clusters since the run before.
SELECT
  count_if(change = 'worse') AS worse,
  count_if(change = 'better') AS better,
  count_if(change = 'decided') AS decided,
  count_if(change = 'undecided') AS undecided,
  count_if(change = 'added') AS added,
  count_if(change = 'removed') AS removed
FROM moved
