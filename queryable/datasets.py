"""The data of running queryables: seen through read-only views, and known not to be samples.

Responsible for these two courtesies. Neither is a sandbox: see the README.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

_in_use: "WeakValueDictionary[int, Any]" = WeakValueDictionary()


def protected(dataset: Any) -> Any:
    """The dataset as mechanisms get it: arrays are read-only views.

    Raises:
        TypeError: a one-shot iterator, which the second mechanism would find empty.
    """
    if isinstance(dataset, Iterator):
        raise TypeError("the dataset is a one-shot iterator; pass a list or an array")
    if isinstance(dataset, np.ndarray):
        view = dataset.view()
        view.flags.writeable = False
        return view
    if type(dataset) is dict:
        return {name: protected(column) for name, column in dataset.items()}
    return dataset


def remember(dataset: Any) -> None:
    """Note that some queryable runs over this dataset; it is not kept alive."""
    for each in _pieces(dataset):
        try:
            _in_use[id(each)] = each
        except TypeError:  # a list, a number: it cannot be told apart
            continue


def is_private(value: Any) -> bool:
    """Whether it is, or is made of, data that a queryable in this process was given."""
    pieces = (each for each in _pieces(value) if each is not None)
    return any(_in_use.get(id(each)) is each for each in pieces)


def _pieces(dataset: Any) -> Iterator[Any]:
    """The object itself, the columns of a mapping, and the arrays that views are views of."""
    yield dataset
    if isinstance(dataset, Mapping):
        for column in dataset.values():
            yield from _pieces(column)
    base = getattr(dataset, "base", None) if isinstance(dataset, np.ndarray) else None
    if isinstance(base, np.ndarray):
        yield base
