"""Compositors whose children are fixed in advance and all started at once.

- `base`: what they have in common. `known`: what a privacy map has given before.
- `concurrent`: `ConComp`.
- `parallel`: `Parallel`, on the parts of a `partition`; `spreading`: what parts lose together.
"""
