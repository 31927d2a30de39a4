"""Time-uniform odometers: bounds on the realised loss that hold at every moment at once.

- `time_uniform`: their base, with the proof. `boundaries`, `renyi_odometer`: their formulas.
  `chances`: reads the probabilities that they are given.
"""
