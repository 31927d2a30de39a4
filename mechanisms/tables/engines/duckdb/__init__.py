"""DuckDB, the embedded engine.

- `engine`: files larger than memory, and frames without a copy. `joins`: joined rows.
- `parts`: a table that grows. `in_order`: its rows as they arrive. `recorded`: record by record.
- `progress`: a bar that shows how much of a question is done.
"""
