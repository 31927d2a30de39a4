"""Estimates that an analyst refines until they are accurate enough.

- `messages`: `Open`, `Refine`, `Until`, `Latest`.
- `estimate`: the answers: `Refined`, `Stopped`, `Undecided`.
- `stopping`: conditions for `Until` (`RelativeError`, `AbsoluteError`), and schedules.
- `tails`: how far an estimate may be from the truth.
- `averaging`: arithmetic on released values.
- `estimating`: the base of the postprocessors that refine estimates.
- `brownian`: `BrownianNoiseReduction`, which pays only for the last, finest estimate.
- `doubling`: `Doubling`, independent releases that are each paid for.
- `laplace_reduction`: `LaplaceNoiseReduction`, one statistic at falling Laplace scales.
"""
