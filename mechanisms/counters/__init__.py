"""Counters: continual sums over a stream of batches.

- `tree`: `TreeCounter`, noisy sums of dyadic groups of batches.
- `toeplitz`: `ToeplitzCounter`, the square root of the matrix that sums.
- `questions`: what both are asked.
- `counter`, `contributions`, `epochs`, `steps`: what both share.
- `coefficients`, `toeplitz_noise`, `sums`: coefficients, and the laws of the noise of answers.
"""
