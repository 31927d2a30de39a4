"""Tables, and the statistics that are computed from their rows.

- `scalars`: constants that a cell can be compared with.
- `column_types`: what a column holds (`Kind`), and constants moved into its domain.
- `comparisons`: cells of arrays compared with a constant.
- `expressions`: operands, which are columns or are computed from columns of one row.
- `texts`: functions of text, and patterns; `grammar`: texts read as values.
- `values`: cells of arrays as numbers, texts and times.
- `computed`: operands evaluated on arrays and frames in memory.
- `predicates`: comparisons, `&`, `|`, `~`, and what a `where` selects; `describe`.
- `columns`: `column("age")`, and the expressions that are written with it; `when`.
- `privacy_unit`: `PrivacyUnit`, and how much one unit contributes.
- `signed`: public numbers that may be negative.
- `lattice`: numbers of a column as whole multiples of a public unit.
- `request`: the sums that a statistic asks of a table, in public groups.
- `keys`: `Keys`, public keys of groups.
- `arrays`: a request evaluated on arrays and frames in memory.
- `aggregates`: the base of all statistics; sensitivities from what one row adds.
- `statistics`: `Count`, `Sum`, `Histogram`.
- `units`: `CountUnits`, `UnitSizes`: privacy units, and how many rows they have.
- `moments`: `Mean`, `Variance`.
- `brackets`, `grids`, `choices`: `Quantiles`, and `PrivateQuantiles`, which answers their values.
- `top`: `Top`, the most frequent categories.
- `quantile`: `Quantile`, scores for the exponential mechanism.
- `discovery`: keys that nobody has named; `found_in_arrays` finds them in memory.
- `discovered`: `DiscoveredKeys`, and `PrivateKeys`, which shows the frequent ones; `shown_keys`:
  what their counts say.
- `group_by`: `GroupBy`, a statistic in each of some public groups.
- `joins`: which tables are joined, and the privacy unit of the joined rows.
- `remembered`: exact totals of requests that were evaluated before.
- `front_door`: statistics from the table, `visits.mean("age", 0, 120)`, and `group_by`.
- `outline`: `Outline`, a table in another process: the same methods, and no rows.
- `table`: `Table`, a file, a frame or a database; `sources` opens what it is of.
- `engines`: what evaluates requests on a table.
"""
