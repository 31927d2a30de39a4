"""Engines: they evaluate the requests of statistics on the rows of a table, exactly.

- `sql`: requests as statements of any database.
- `duckdb`: the default engine, for files and frames.
- `ibis`: Spark, Postgres, SQLite and other databases through Ibis.
- `files`: files, frames and their cells, as an engine opens and reads them.

What the engines share:

- `protocol`: the interface of an engine (`Engine`). `limits`: how long a question may take.
- `dialect`: how an engine writes expressions (`Dialect`). `whole`: whole numbers in statements.
- `even`: steps at equal distances, by arithmetic.
- `lifting`: computed operands of groups and sums as columns that an engine adds first.
- `operands`: columns and computed operands compiled to an engine's expressions.
- `compiler`: predicates, groups and terms compiled to an engine's expressions.
"""
