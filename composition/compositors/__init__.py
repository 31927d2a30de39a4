"""Compositors: interactive mechanisms whose children are interactive mechanisms.

- `adaptive`: the base of filters and odometers, with the order of a launch. `filters`: `FiltCon`,
  `Filt`, `FiltSeq`. `odometers`: `OdomCon`, `Odom`, `OdomSeq`.
- `ex_post`: `ExPost`, a filter that charges realised costs, with its claims in `ex_post_claims`.
- `fixed`: the base of compositors whose children are fixed in advance. `concurrent`: `ConComp`.
  `parallel`: `Parallel`, on the parts of a `partition`.
- `blocks`: `Blocks`, growing data in blocks with a budget each; `books` has their accounts, `units`
  the rows of a unit. `pacing`: `AtMostADay`, a person over it.
- `universal`: `Universal`, which becomes the first mechanism launched in it.
- `grows`: the base of compositors that take batches if the table says so.
- `claims`: steps 1 and 2 of a launch. `children`: starting and asking children.
"""
