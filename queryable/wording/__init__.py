"""Words about values and mechanisms: quoted values, and guarantees from docstrings."""
