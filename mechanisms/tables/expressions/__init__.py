"""What is computed of one record: columns, operands and predicates.

- `scalars`: constants that a cell can be compared with.
- `column_types`: what a column holds (`Kind`), and constants moved into its domain.
- `corrections`: what to write instead of a wrong name.
- `operands`: columns, and what is computed from columns of one row.
- `texts`: functions of text, and patterns. `grammar`: texts read as values.
- `values`: cells of arrays as numbers, texts and times. `comparisons`: with a constant.
- `lattice`: numbers of a column as whole multiples of a public unit.
- `computed`: operands evaluated on arrays and frames in memory.
- `predicates`: comparisons, `&`, `|`, `~`, and what a `where` selects.
- `columns`: `column("age")`, and the expressions that are written with it; `when`.
"""
