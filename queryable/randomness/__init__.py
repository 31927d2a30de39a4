"""Randomness: coins, probability laws, the system's entropy, pools and enclosed probabilities."""
