"""Counters: continual sums over a stream of batches.

- `tree`: `TreeCounter`, noisy sums of dyadic groups of batches.
- `toeplitz`: `ToeplitzCounter`, the square root of the matrix that sums.
- `questions`: what both are asked.
- `counter`, `contributions`: what both share; `epochs`: of a tree; `steps`: of a Toeplitz counter.
- `roots`, `coefficients`, `series`: coefficients of Toeplitz matrices.
- `toeplitz_noise`, `sums`: the laws of the noise of answers.
"""
