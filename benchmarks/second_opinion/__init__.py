"""Losses of a ledger beside those that other people's accountants compute for the same events."""
