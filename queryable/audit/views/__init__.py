"""Views: what an adversary sees, with its probability.

- `enumeration`: every outcome of coins. `view_laws`: exact laws of steps and of views.
- `keys`: answers as keys of a law. `pairs`: where two neighbouring streams differ.
- `scripts`: a mechanism with data and queries. `strategies`: deterministic adversaries.
"""
