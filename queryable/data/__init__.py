"""Columns, rows and constants of tables in memory."""
