"""Arrays as values: read-only, and equal if their entries are. Knows no columns and no records."""

from typing import Any, TypeVar

import numpy as np

AnyArray = TypeVar("AnyArray", bound="np.ndarray[Any, Any]")


def read_only(array: AnyArray) -> AnyArray:
    """The same array, which can no longer be written through this object."""
    array.flags.writeable = False
    return array


def by_value(value: Any) -> Any:
    """What an attrs field compares (`eq=by_value`) if its value may be an array."""
    return (value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value
