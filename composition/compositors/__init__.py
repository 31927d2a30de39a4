"""Compositors: interactive mechanisms whose children are interactive mechanisms.

- `launching`: the order of a launch. `claims`: steps 1 and 2 of it. `children`: checks of queries
  to children. `logged`: claims of a state that was made from a log.
- `adaptive`: the base of filters and odometers, with their state in `state`. `filters`: `FiltCon`,
  `Filt`, `FiltSeq`. `odometers`: `OdomCon`, `Odom`, `OdomSeq`.
- `ex_post`: `ExPost`, a filter that charges realised costs, with its claims in `ex_post_claims`.
- `fixed`: `ConComp` and `Parallel`, whose children are fixed in advance.
- `blocks`: `Blocks`, growing data in blocks with a budget each, and `AtMostADay`.
- `individual`: `Individual`, a filter with an account for each record.
- `universal`: `Universal`, which becomes the first mechanism launched in it.
- `grows`: the base of compositors that take batches if the table says so.
"""
