"""Compositors: interactive mechanisms whose children are interactive mechanisms.

- `launching`: the order of a launch. `adaptive`: the base of filters and odometers, with their
  state in `state`. `filters`: `FiltCon`, `Filt`, `FiltSeq`. `odometers`: `OdomCon`, `Odom`,
  `OdomSeq`.
- `ex_post`: `ExPost`, a filter that charges realised costs, with its claims in `ex_post_claims`.
- `fixed`: the base of compositors whose children are fixed in advance. `concurrent`: `ConComp`.
  `parallel`: `Parallel`, on the parts of a `partition`.
- `blocks`: `Blocks`, growing data in blocks with a budget each; `block_register` says which blocks
  there are, `block_accounts` what each has lost, `units` has the rows of a unit. `pacing`:
  `AtMostADay`, a person over it.
- `individual`: `Individual`, a filter with an account for each record, which are in `accounts`.
- `universal`: `Universal`, which becomes the first mechanism launched in it.
- `grows`: the base of compositors that take batches if the table says so.
- `claims`: steps 1 and 2 of a launch. `children`: checks of queries to children.
"""
