"""Spark, Postgres, SQLite and other databases through Ibis.

- `engine`: requests evaluated there. `rowwise`: the expressions that are accepted as a source.
- `databases`: what differs between databases, as one value for each (`Database`).
- `dialect`: expressions that are the same everywhere; `dialects`, the functions of each, with
  `sqlite_functions`. `hashes`: the md5 of text.
- `rows`, `kept`: the rows of each unit that count. `totals`: sums. `keys`: many public keys.
- `found`: the keys that occur. `joins`: joined rows. `parts`: a table that grows.
- `misread`: what SQLite has stored under another type.
"""
