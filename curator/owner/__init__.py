"""What the owner of a curator orders.

- `orders`: analysts, tokens and grants. `feeding`: `curator feed`. `retrying`: `curator retry`.
"""
