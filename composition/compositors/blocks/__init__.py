"""Growing data in blocks, each with an account of its own.

- `blocks`: `Blocks`. `state`: its state. `register`: which blocks there are.
- `accounts`: what each block has lost. `units`: the rows of a unit.
- `pacing`: `AtMostADay`, a person over it.
"""
