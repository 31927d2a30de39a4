"""Counts and sums over every range of ordered keys, such as the days of a year.

- `designs`: which sums of neighbouring keys get noise, and how each key is computed from them.
- `ranges`: `Ranges`, the statistic, and its answer, whose ranges add up.
"""
