"""The review: a report of a whole curator for somebody who checks it, and whether a report holds.

Responsible for what a reviewer asks of a system with differential privacy, answered from the
configuration, the ledger and the code, without data and without key. `curator.owner.reporting`
lists the questions of one data set.

- `snapshot`: the events of all roots, read once. `past`: what was checked earlier.
- `facts`: what is known of each data set, as values of JSON.
- `questions`: what a reviewer asks, with answers and their sources; `texts.toml` has their words,
  where each promise is kept in the code, and what no code keeps.
- `registry`: the fields of the DP Deployments Registry.
- `pages`: a report as Markdown, HTML or JSON, and back. `signing`: signatures by Ed25519.
- `reviewing`: the command `curator report`, and its `--check`.
"""
