"""What the owner of a curator orders.

- `orders`: analysts, tokens and grants. `feeding`: `curator feed`. `retrying`: `curator retry`.
- `checking`: `curator check`. `checks`: notes of what was checked and when.
  `opened`: a ledger that a command reads.
"""
