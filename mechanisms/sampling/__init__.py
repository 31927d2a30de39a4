"""Exact sampling from fair bits, with integers alone.

- `cks`: one draw at a time, by the algorithms of Canonne, Kamath and Steinke (2020).
- `blocks`: many draws at once.
- `laws`: the distributions: `DiscreteLaplace`, `DiscreteGaussian`, `BernoulliExp`.
- `choices`: one of several candidates, chosen by integer scores.
- `laplace_path`: Laplace noise at several scales, each coarser one computed from the finer.
- `integers`: integer arrays added without overflow.
- `noise_curves`: trade-off curves of the laws.
"""
