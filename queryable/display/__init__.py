"""Displays of an interaction: tree, ledger and explanation. All are functions of the view."""
