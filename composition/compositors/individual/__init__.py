"""A filter with an account for each record.

- `individual`: `Individual`. `accounts`: the accounts. `books`: who can pay for a launch.
"""
