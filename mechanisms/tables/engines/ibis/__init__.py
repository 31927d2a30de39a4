"""Spark, Postgres, SQLite and other databases through Ibis.

- `engine`: requests evaluated there. `rowwise`: the expressions that are accepted as a source.
- `databases`: what differs between databases, as one value for each (`Database`).
- `dialects`: the expressions of Postgres and Spark; `on_sqlite` and `sqlite_functions`, SQLite's.
- `statements`: rows as SQL, and statements in the words of a database, with their rows.
- `kept`: stores the rows of each unit that count. `keys`: public keys, written or uploaded.
- `joins`: joined rows. `parts`: a table that grows.
- `misread`: what SQLite has stored under another type.
"""
