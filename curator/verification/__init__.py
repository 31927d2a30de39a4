"""What `curator.verify` computes again: accounts, charges and the coins' history of a ledger.

Nothing here reads data or needs a key, and nothing names a rule. An account says which numbers a
charge changes, what a loss adds to them and whether they are within its limits, by the arithmetic
of `composition.rules.checks`, which no rule uses when it decides. Sums, ids, claims, refusals and
histories are computed here.

- `accounts`: what a charge adds to an account. `running`: the kinds of accounts, by their tags.
  `terms`: what the compositor's mechanism fixes in its account. `blocks`: the accounts of blocks.
- `charges`: whether a charge covers the loss that a mechanism states; charges after answers.
- `effects`: the effect that an answer states. `histories`: where the coins of a message come from.
- `tree`: which compositor is at which path, and its account. `messages`: one message after the
  other.
"""
