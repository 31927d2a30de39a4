"""Agents that ask a curator: a server of the Model Context Protocol, a client of protocol v1.

- `tools`: what an agent can do, as functions of plain values.
- `serving`: the server, by the official SDK (extra `mcp`).
- `sessions`: what an agent said and called, as a text. `replaying`: the calls made again.
  `quoting`: its numbers, compared by their intervals.
"""
