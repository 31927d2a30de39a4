"""Advice on budgets: nothing that composes mechanisms needs it.

- `planning`: `recommend`, which compares the rules that suit a plan (`composition.rules.fitting`).
- `admission`: how many launches a rule admits. `hints`: what pays beyond a rule.
- `plot`: pictures.
"""
