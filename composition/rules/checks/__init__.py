"""How accounts are checked: by arithmetic of this room, and none of the rules'.

A rule decides by a bound that it rounds against the analyst. A check computes the same bound in
another way: in balls, from the other side, or without a search. It imports no rule and no
conversion of losses, so a defect of these is found by it. `curator.verify` checks the accounts of a
ledger so; no compositor does when it decides.

- `account`: what an account says of itself. `compare`: whether a number is above a limit.
- `added`: what one launch adds. `curves`: Gaussian, Renyi and zero-concentrated DP.
- `residues`: what a launch leaves of Gaussian DP. `menus`: the worst case of a menu.
- `odometers`: time-uniform bounds. `pools`: the pool of an ex-post filter.
"""
