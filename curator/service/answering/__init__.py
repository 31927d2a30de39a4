"""What answers messages in the process that has the data.

- `local`: `LocalService`, one on a ledger. `opening`: opens one of a configuration.
- `reading`: what a token may read. `places`: which exchanges it sees.
- `growing`: the tree of a page, made further at each look. `heads`: copies that are old.
- `lengths`: limits for queries. `feeding`: batches of the owner.
"""
