"""Charges as events that other people's accountants read.

- `laws`: what a mechanism draws from, with the sensitivity that its noise is for.
- `written`: losses as plain values, with exact numbers as text, and back.
- `charge`: one charge of a ledger, with what was drawn for it.
- `peers`: the same in the classes of `dp_accounting`.
- `charges`: all charges of a ledger, as documented JSON; `queryable.display.charged` makes them.
"""
