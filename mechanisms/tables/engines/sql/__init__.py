"""Requests as SQL statements, for every database.

- `expression`: SQL with Python operators. `dialect`: what most databases write alike; `computing`,
  what those have in common that compute operands; `on_duckdb`, DuckDB's.
- `types`: the types of DuckDB's columns. `views`: the columns that statements read, and how.
- `asked`: how a request reads columns of a CSV file without a declared type.
- `statements`: the statement of a request. `together`: requests that share a scan.
- `kept`: the rows of each unit that count; `keeping` stores these on DuckDB.
- `bounds`: in which groups the rows of a unit count. `units`: the rows of units, with a value each.
- `keyed`: how rows are placed among the keys of groups. `found`: the keys that occur.
"""
