"""Answers that carry the law of their noise, and estimates that are made of them.

- `noisy`: the answers of mechanisms. `half_widths`: half-widths of intervals.
- `values`: values and keys of answers. `estimates`: their entries and confidence intervals, from
  what `evidence` has. `plotting` draws them; `drawing` is what all figures share.
- `released`: the answers of `Queryable.release`.
"""
