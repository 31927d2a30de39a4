"""The front: what analysts reach.

- `front`: the routes of the protocol. `owner`: the owner's. `granting`: what a grant does.
- `callers`: who asks. `keeper`: the access. `sessions`: who is logged in on the pages.
- `problems`: errors. `metrics`: numbers. `ticks`: times. `sending`: replies on their way.
- `sockets`, `protocols`: connections.
"""
