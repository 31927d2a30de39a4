"""Quantiles of a column.

- `grids`: levels, candidates and bins. `brackets`: an estimate, and ends that enclose the value.
- `choices`: `Quantiles`, and `PrivateQuantiles`, which answers their values.
- `quantile`: `Quantile`, scores for the exponential mechanism.
"""
