"""Coins, entropy, values drawn ahead, and enclosed probabilities."""
