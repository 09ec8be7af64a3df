-- The runs of a trend; `started` is in UTC, to the minute.
SELECT * REPLACE (strftime(started::TIMESTAMP, '%Y-%m-%d %H:%M') AS started) FROM query_trend ORDER BY run
