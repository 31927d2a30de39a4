"""Requests as SQL statements of DuckDB.

- `dialect`: expressions with Python operators. `types`: the types of DuckDB's columns.
- `asked`: how a request reads columns of a CSV file without a declared type.
- `statements`: the statement of a request. `together`: requests that share a scan.
- `kept`: the rows of each unit that count; `keeping` stores these.
- `keyed`: how rows are placed among the keys of groups. `found`: the keys that occur.
"""
