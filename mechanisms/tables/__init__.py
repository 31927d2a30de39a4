"""Tables, and the statistics that are computed from their rows.

- `expressions`: what is computed of one record: columns, operands, predicates.
- `requests`: the sums and keys that a statistic asks of a table; evaluated in memory.
- `statistics`: `Count`, `Mean`, `Regression`, `GroupBy` and others. `quantiles`: of a column.
- `spans`: `Ranges`, counts and sums over every range of ordered keys.
- `engines`: what evaluates requests on files, frames and databases.
- `table`: `Table`, a file, a frame or a database; `sources` opens what it is of.
- `joins`: which tables are joined, and the privacy unit of the joined rows.
- `growth`: tables that grow. `records`: what each record adds.
- `front_door`: statistics from the table, `visits.mean("age", 0, 120)`, and `group_by`.
  `unit_values`: those of a number of each privacy unit, `visits.per_unit("count").mean()`.
- `outline`: `Outline`, a table in another process: the same methods, and no rows.
"""
