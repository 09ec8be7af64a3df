-- Rules with errors or warnings, and the day when the oldest finding was first seen.
SELECT *, strftime(oldest_first_seen::TIMESTAMP, '%Y-%m-%d') AS oldest
FROM query_rules WHERE worst_severity <> 'info'
