"""Entries of numpy's arrays and scalars.

An array of numbers is a flat list with the dtype and the shape; its byte order is little-endian.
Decoded arrays are read-only.
"""

import json
import re
from math import isfinite, prod
from typing import Any

import numpy as np

from curator.codec.entries import Entry
from curator.codec.fields import Custom, FieldKind, Plain, UnreadableError, UnwritableError
from queryable.answers.noisy import NoisyArray, NoisyInt, noisy_array
from queryable.data.frozen import read_only
from queryable.randomness.laws import Law

_EXACT = 2**53
_DIMENSIONS = 32  # as many as numpy had for long; a product of many sides takes quadratic time
_OBJECTS = "|O"
_DTYPE = re.compile(r"\|b1|\|[iu]1|<[iu][248]|<f[248]")
_TIME = re.compile(r"<[mM]8(\[[1-9]?[0-9]{0,5}(Y|M|W|D|h|m|s|ms|us|ns)\])?")
_SCALARS = tuple({np.dtype(code).type for code in "?bhilqBHILQefd"})
_WORDS = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}


def _dtype(text: str, *patterns: re.Pattern[str]) -> np.dtype[Any]:
    if not any(pattern.fullmatch(text) for pattern in patterns):
        raise UnreadableError("should be a dtype of booleans, integers or floats, such as <i8")
    return np.dtype(text)


def _little(dtype: np.dtype[Any]) -> np.dtype[Any]:
    little = dtype.newbyteorder("<")
    if not _DTYPE.fullmatch(little.str):
        raise UnwritableError("give an array of booleans, integers or floats")
    return little


def _spelled(number: Any) -> Any:
    """A number as JSON holds it exactly: text if it is large or no number."""
    if type(number) is float:
        return number if isfinite(number) else repr(number)
    return number if -_EXACT <= number <= _EXACT else str(number)


def _read(spelled: Any) -> Any:
    """The number of such a text; every other value as it is."""
    if type(spelled) is not str:
        return spelled
    return _WORDS[spelled] if spelled in _WORDS else int(spelled)


def _items(plain: Plain) -> FieldKind:
    def write(values: Any) -> str:
        flat = values.reshape(-1)
        plain.limits.check_items(flat.size)
        if flat.dtype.hasobject:
            return f"[{','.join(map(plain.write, flat.tolist()))}]"
        numbers = flat.tolist()
        return json.dumps(
            numbers if _is_exact(flat) else [*map(_spelled, numbers)], separators=(",", ":")
        )

    def read(raw: Any) -> Any:
        if type(raw) is not list:
            raise UnreadableError("should be a list")
        return list(plain.read(raw))

    return FieldKind(write, read)


def _is_exact(numbers: Any) -> bool:
    """Whether JSON holds all of these as numbers."""
    if numbers.dtype.kind == "f":
        return bool(np.isfinite(numbers).all())
    if numbers.dtype.itemsize < 8 or not numbers.size:
        return True
    return int(numbers.min()) >= -_EXACT and int(numbers.max()) <= _EXACT


def _of_array(array: Any) -> tuple[Any, ...]:
    if array.dtype == np.object_:
        return _OBJECTS, array, array.shape
    little = _little(array.dtype)
    return little.str, array.astype(little, copy=False), array.shape


def _array(dtype: str, items: list[Any], shape: tuple[int, ...]) -> Any:
    if dtype == _OBJECTS:
        flat = np.empty(len(items), dtype=object)
        for place, item in enumerate(items):  # numpy would unpack a tuple
            flat[place] = item
    else:
        kind = _dtype(dtype, _DTYPE)
        flat = np.array([*map(_read, items)] if str in set(map(type, items)) else items, dtype=kind)
    fits = flat.ndim == 1 and len(shape) <= _DIMENSIONS and all(side >= 0 for side in shape)
    if not fits or prod(shape) != flat.size:
        raise UnreadableError("should have as many items as its shape says")
    return read_only(flat).reshape(shape)


def _of_scalar(scalar: Any) -> tuple[Any, ...]:
    dtype = scalar.dtype
    if dtype.kind in "mM":
        return dtype.newbyteorder("<").str, int(scalar.astype(np.int64))
    return _little(dtype).str, scalar.item()


def _scalar(dtype: str, value: Any) -> Any:
    kind = _dtype(dtype, _DTYPE, _TIME)
    if kind.kind in "mM":
        return np.array([value], dtype="<i8").view(kind)[0]
    return np.array([value], dtype=kind)[0]


_SHAPE = tuple[int, ...]

ARRAYS = (
    Entry(
        "array/1",
        (np.ndarray,),
        {"dtype": str, "items": Custom(_items), "shape": _SHAPE},
        _of_array,
        _array,
    ),
    Entry(
        "noisy-array/1",
        (NoisyArray,),
        {"noise": Law | None, "values": np.ndarray},
        lambda v: (v.noise, np.asarray(v)),
        lambda noise, values: noisy_array(values, noise),
    ),
    Entry(
        "noisy-int/1",
        (NoisyInt,),
        {"noise": Law, "value": int},
        lambda v: (v.noise, int(v)),
        lambda noise, value: NoisyInt(value, noise),
    ),
    Entry(
        "numpy/1",
        (*_SCALARS, np.datetime64, np.timedelta64),
        {"dtype": str, "value": bool | int | float},
        _of_scalar,
        _scalar,
    ),
)
