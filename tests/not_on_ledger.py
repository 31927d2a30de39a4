"""Tests that cannot run on a ledger, each with its reason; see `tests/on_ledger.py`."""

REASONS: dict[str, str] = {}
