"""Siblings are a sequence of nodes, most of which are made when they are read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queryable.display.siblings import Run, Siblings, counted, tallied

PIECES = st.lists(st.one_of(st.none(), st.integers(1, 5)), max_size=8)


def built(pieces: list[int | None]) -> tuple[Siblings[str], list[str]]:
    """Build siblings from nodes (None) and run lengths, and the equal list."""
    siblings: Siblings[str] = Siblings()
    flat: list[str] = []
    for length in pieces:
        start = len(flat)
        if length is None:
            siblings.append(f"made {start}")
            flat.append(f"made {start}")
        else:
            places = range(start, start + length)
            siblings.append(Run(places, "run {}".format, lambda place: place // 2))
            flat += [f"run {place}" for place in places]
    return siblings, flat


@given(PIECES, st.integers(-20, 20), st.integers(-20, 20))
def test_they_are_a_sequence(pieces: list[int | None], start: int, stop: int) -> None:
    siblings, flat = built(pieces)
    assert list(siblings) == flat
    assert len(siblings) == len(flat)
    assert list(siblings[start:stop]) == flat[start:stop]
    assert [siblings[place] for place in range(-len(flat), len(flat))] == flat * 2
    assert list(siblings.made()) == [each for each in flat if each.startswith("made")]


@given(PIECES)
def test_counts_make_few_nodes(pieces: list[int | None]) -> None:
    siblings, flat = built(pieces)
    assert sum(count for _, count in counted(siblings)) == len(flat)
    counts = tallied(siblings, lambda node: node[:4], "run ")
    assert counts == tallied(flat, lambda node: node[:4], "run ")


def test_missing_places_and_steps_are_refused() -> None:
    siblings, _ = built([None, 2])
    with pytest.raises(IndexError):
        siblings[3]
    with pytest.raises(ValueError, match="step"):
        siblings[::2]
