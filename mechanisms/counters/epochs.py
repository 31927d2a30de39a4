"""Epochs: the parts of a stream that have trees of their own.

With a known horizon the stream is one epoch. Without one, epochs have the lengths 1, 2, 4, ...
(Chan, Shi, Song 2011, the hybrid mechanism). A record arrives in exactly one epoch.
"""

from collections.abc import Iterator

import attrs


@attrs.frozen
class Epoch:
    """Steps `base` + 1 to `base` + `length` of a stream."""

    base: int
    length: int


def epoch_at(step: int, horizon: int | None) -> Epoch:
    """The epoch in which a step is, counted from 1."""
    if horizon is not None:
        return Epoch(0, horizon)
    length = 1 << (step.bit_length() - 1)
    return Epoch(length - 1, length)


def parts(start: int, end: int, horizon: int | None) -> Iterator[tuple[Epoch, int, int]]:
    """The epochs of steps start + 1 to end, each with these two counted within it."""
    while start < end:
        epoch = epoch_at(start + 1, horizon)
        stop = min(end, epoch.base + epoch.length)
        yield epoch, start - epoch.base, stop - epoch.base
        start = stop
