"""A person in the middle that never buys twice what can be worked out from what was bought.

- `grids`: constants that are likely to be asked next.
- `axes`: the atoms into which public predicates cut a column.
- `asking`: questions as boxes of atoms: counts, sums and histograms.
- `combined`: `Combined`, integer combinations of counts in groups: what is launched.
- `together`: `GaussiansTogether`, several launches as one.
- `shapes`: strategies: how accurate which combination of atoms should be.
- `ledgers`: what was released, and estimates from it by generalised least squares.
- `solving`: weights that do not depend on the numerical library.
- `buying`: the least precision that answers a question.
- `spread`: how far an estimate may be from the truth.
- `messages`: `Estimate`, and its answer `Estimated`.
- `books`: what is known about one sum of rows: axes and ledgers.
- `pricing`: what launches would cost through it.
- `frugal`: `Frugal`.
"""
