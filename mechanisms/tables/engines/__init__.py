"""Engines: they evaluate the requests of statistics on the rows of a table, exactly.

- `protocol`: the interface of an engine (`Engine`).
- `limits`: how long a question may take; `progress`: a bar that shows how much of it is done.
- `dialect`: how an engine writes expressions (`Dialect`).
- `lifting`: computed operands of groups and sums as columns that an engine adds first.
- `operands`: columns and computed operands compiled to an engine's expressions.
- `compiler`: predicates, groups and terms compiled to an engine's expressions.
- `duckdb`: the default engine, for files and frames; `statements` has the SQL of a request, `kept`
  of the rows of each unit that count, `keeping` stores these,
  `sql` has the dialect.
- `keyed`: how DuckDB places rows among the keys of groups; `together`: requests that share a scan.
- `found`, `ibis_found`: the keys that occur, on DuckDB and on the databases behind Ibis.
- `opening`: the files that DuckDB opens, and the restriction to these files; `loading` reads the
  cells of CSV files and of Python objects into it, and `duckdb_types` names its types.
- `csv_files`: CSV files split into rows and cells, `csv_lines` into records; `cells` reads a cell's
  text as a value, and `cell_formats` says how numbers and dates are written.
- `misread`: what could not be read, for the owner of the data.
- `parquet_files`: Parquet files, and a copy without invalid cells.
- `frames`: pandas, polars and numpy data as Arrow tables; `objects` converts Python objects.
- `validity`: invalid cells of Arrow columns made missing.
- `ibis`: Spark, Postgres, SQLite and other databases through Ibis.
- `rowwise`: the Ibis expressions that are accepted as a source.
- `joins`, `ibis_joins`: joined rows on DuckDB and on the databases behind Ibis.
- `backends`: what differs between the databases behind Ibis: sessions, hashes, constants.
- `ibis_dialect`: expressions of Ibis; `databases` the functions of each database, with
  `sqlite_functions`.
"""
