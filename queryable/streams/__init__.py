"""Data that grow: what neighbours are, blocks as data, and what each record adds."""
