"""The form of a data set, by its class. Imports no library of frames."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from queryable.audit.rows.arrays import ArrayForm
from queryable.audit.rows.columns import DictForm
from queryable.audit.rows.forms import Form, InMemory
from queryable.audit.rows.frames import frame_form
from queryable.audit.rows.listed import ListForm
from queryable.checks.datasets import Described
from queryable.data.cells import masked_arrays
from queryable.data.growing import snapshot


def form_of_data(data: Any, beside: Sequence[Any] = ()) -> Form:
    """The form of a data set, or of a batch; itself if it is one.

    Args:
        beside: what a batch is fed to: a table among these knows how its batches are read.

    Raises:
        TypeError: its records are not known.
    """
    data = snapshot(data)
    if isinstance(data, Form):
        return data
    tables = [each for each in (data, *map(snapshot, beside)) if isinstance(each, Described)]
    if tables:
        found = tables[0].neighbouring(None if tables[0] is data else data)
        if not isinstance(found, Form):
            raise TypeError(f"neighbouring() of a {type(tables[0]).__name__} gave no form")
        return found
    return in_memory(data)


def in_memory(data: Any) -> InMemory:
    """The form of data in memory.

    Raises:
        TypeError: its records are not known.
    """
    kind = type(data)
    if kind is dict:
        return DictForm(data, in_memory)
    if isinstance(data, list | tuple):
        return ListForm(data)
    if (kind is np.ndarray and data.ndim) or isinstance(data, masked_arrays()):
        return ArrayForm(data)
    form = frame_form(data)
    if form is None:
        raise TypeError(
            f"the records of a {kind.__name__} are not known: give neighbours= that you make"
        )
    return form
