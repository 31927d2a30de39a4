"""Questions in SQL: a closed grammar, each query of which becomes statistics that exist.

- `refusals`: `SqlError`, which says what to write instead.
- `parsing`: the text as a tree of sqlglot, within limits.
- `sources`: what FROM names: a table, rows of a table, or numbers of each privacy unit.
- `values`: expressions of one row, with their public bounds. `conditions`: all expressions, also
  those that are true, false or unknown, which are `truths`.
- `functions`: the functions of one row.
- `aggregates`: COUNT, SUM, AVG and so on as statistics. `grouping`: GROUP BY as keys.
- `outputs`: arithmetic over answers, with intervals.
- `planning`: a text as a `SqlQuery`: the statistics that it asks, and what is computed from them.
- `asking`: what it costs, and its answer. `answers`: the rows of an answer, with their intervals.
- `costs`: what each statistic may cost, and EXPLAIN. `subqueries`: queries in FROM.
"""
