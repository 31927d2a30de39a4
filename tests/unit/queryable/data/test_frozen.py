"""Arrays as values."""

import attrs
import numpy as np
import pytest

from queryable.data.frozen import by_value, read_only


def test_nobody_writes_to_what_is_read_only() -> None:
    array = np.zeros(3)
    assert read_only(array) is array
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


def test_fields_compare_entries_and_shapes() -> None:
    @attrs.frozen
    class Answer:
        value: object = attrs.field(eq=by_value)

    assert Answer(np.arange(4)) == Answer(np.arange(4))
    assert Answer(np.arange(4)) != Answer(np.arange(4).reshape(2, 2))
    assert Answer(3) == Answer(3) != Answer(4)
