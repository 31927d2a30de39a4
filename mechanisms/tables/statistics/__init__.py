"""Statistics of tables, arrays and frames.

- `aggregates`: their base; sensitivities from what one row adds.
- `counts`: `Count`, `Sum`, `Histogram`. `units`: `CountUnits`, `UnitSizes`.
- `moments`: `Mean`, `Variance`. `products`, `regression`: several columns; `linear` solves.
- `group_by`: `GroupBy`, a statistic in each of some public groups.
- `top`: `Top`, the most frequent categories.
- `discovered`: `DiscoveredKeys`, `PrivateKeys`. `shown_keys`: what their counts say.
- `releases`: statistics that choose their noise. `ranges`: enclosures of exact results.
- `signed`: public numbers that may be negative.
"""
