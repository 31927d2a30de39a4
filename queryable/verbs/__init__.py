"""The verbs of a handle, by their subject.

- `releasing`: releases of statistics. `several`: several launches or questions at once, also of
  `plans`.
- `over_blocks`: launches over blocks of growing data. `feeding`: what the owner feeds.
- `displayed`: what a handle shows of its tree.
"""
