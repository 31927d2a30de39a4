"""Synthetic data that one can go on asking: a graphical model, fitted to chosen noisy marginals.

- `domain`: the public cells of the columns, and predicates as sets of cells.
- `workload`: the marginals that may be measured, and how much they matter.
- `scores`: what the data are asked: marginals, and how far they are from the model's.
- `graphical`: counts and rows of a model. `fitting`: the model of noisy marginals.
- `spending`: how the loss of a fit is divided into rounds.
- `choosing`: what a choice says about what was not chosen. `limits`: what is refused by its size.
- `messages`: queries and answers. `synthetic`: the person.
"""
