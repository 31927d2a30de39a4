"""The sums and keys that a statistic asks of a table.

- `privacy_unit`: `PrivacyUnit`, and how much one unit contributes.
- `request`: sums over rows, in public groups. `keys`: `Keys`, public keys of groups.
- `wording`: what a statistic asks, in words.
- `arrays`: a request evaluated in memory. `families`: what its expressions compute.
- `contributions`: what each record adds to the sums.
- `discovery`: keys that nobody has named. `found_in_arrays`: finds them in memory.
- `remembered`: exact totals of requests that were evaluated before.
"""
