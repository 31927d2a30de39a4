"""What `curator.verify` computes again: accounts, charges and the coins' history of a ledger.

Nothing here reads data or needs a key. Accounts are computed by the formulas of docs/theory.md. The
arithmetic is this room's own: it shares the loss classes and the codec with the compositors, and
none of their rules.

- `compare`: whether a real number is above a limit, in ball arithmetic.
- `curves`: formulas of Gaussian, Renyi and zero-concentrated DP. `residues`: what a launch leaves
  of Gaussian DP. `menus`: the worst case of a menu. `odometers`: time-uniform bounds.
- `accounts`: what a charge adds to an account. `rules`, `running`: those of rules and odometers.
  `terms`: what the compositor's mechanism fixes in its account.
- `charges`: whether a charge covers the loss that a mechanism states; charges after answers.
- `tree`: which compositor is at which path, and its account. `messages`: one message after the
  other.
"""
