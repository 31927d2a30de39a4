import gc
import weakref

import numpy as np
import pandas as pd
import pytest

from queryable.datasets import is_private, protected, remember


def test_arrays_are_read_through_views() -> None:
    data = {"a": np.arange(3), "b": [1, 2]}
    seen = protected(data)
    with pytest.raises(ValueError, match="read-only"):
        seen["a"][0] = 7
    data["a"][0] = 7  # type: ignore[index]
    assert seen["a"][0] == 7


def test_what_was_remembered_is_private() -> None:
    array, frame = np.arange(5), pd.DataFrame({"a": [1]})
    assert not is_private(array)
    for data in (array, frame, {"a": array}):
        remember(data)
        assert is_private(data)
    assert is_private({"other": array[1:]})
    assert not is_private(array.copy())
    assert not is_private([1, 2, 3])


def test_it_is_not_kept_alive() -> None:
    """Nor is whatever comes to lie at its place taken for it."""
    array = np.arange(1000)
    alive = weakref.ref(array)
    remember({"a": array})
    del array
    gc.collect()
    assert alive() is None
    assert not any(is_private(np.arange(1000)) for _ in range(100))


def test_what_cannot_be_told_apart_is_left() -> None:
    remember([1, 2, 3])
    remember(None)
    assert not is_private(None)
