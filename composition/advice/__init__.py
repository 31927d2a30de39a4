"""Advice on budgets: nothing that composes mechanisms needs it.

- `plans`: `plan`, which shares a budget among questions, or finds the budget that they need.
- `planning`: `recommend`, which compares the rules that suit a plan (`composition.rules.fitting`).
- `admission`: how many launches a rule admits; `residues` counts those of `GDPResidue`.
- `slacks`: the slack with which a rule admits the most. `hints`: what pays beyond a rule.
- `plot`: pictures.
"""

from composition.advice.plans import plan

__all__ = ["plan"]
