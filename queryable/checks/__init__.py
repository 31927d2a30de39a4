"""What is found out about a launch before it is charged. Nothing here reads records.

- `kinds`, `held`: mechanisms, persons and statistics that a value holds.
- `dry_runs`: what is wrong about a list of queries. `fit`: whether a query fits the data.
- `datasets`: descriptions that data may have. `protection`: whom a claim protects.
- `scales`: the accuracy of an answer, and the scale for a wanted accuracy.
"""
