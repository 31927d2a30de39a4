"""Statistics: declared sensitivity, checked shape, integers only, faults hidden."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from queryable import Bit, MechanismFault, Statistic
from queryable.faults import collecting
from tests.strategies import SECRET, raising


def statistic(value: Any, shape: Any = None) -> Statistic:
    """A statistic with this value, whatever the data."""
    return Statistic(lambda dataset: value, l1=1, l2=1, shape=shape)


@pytest.mark.parametrize("missing", ["l1", "l2"])
def test_sensitivities_have_no_default(missing: str) -> None:
    """Every claim depends on them, so they are required."""
    declared = {"l1": 1, "l2": 1}
    del declared[missing]
    with pytest.raises(TypeError, match=missing):
        Statistic(len, **declared)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [float("nan"), -1, True, "", float("inf")])
@pytest.mark.parametrize("name", ["l1", "l2"])
def test_bad_sensitivities_are_refused(name: str, value: object) -> None:
    """A sensitivity is a finite number >= 0, and the message names it."""
    with pytest.raises(ValueError, match=name):
        Statistic(len, **{"l1": 1, "l2": 1, name: value})  # type: ignore[arg-type]


def test_sensitivities_are_exact() -> None:
    """A sensitivity of 0.1 is one tenth."""
    assert Statistic(len, l1=0.1, l2="1/3").l1 == Fraction(1, 10)


@pytest.mark.parametrize("value", [3, np.int32(3), np.uint64(3), np.array(3), True])
def test_single_integers_become_python_ints(value: object) -> None:
    """One integer, of whatever type, is a Python int."""
    result = statistic(value)(None)
    assert type(result) is int
    assert result == int(value)  # type: ignore[call-overload]


@pytest.mark.parametrize("value", [3.0, np.float64(3), "3", None, [3], Fraction(3), 3 + 0j])
def test_a_value_that_is_no_integer_is_a_fault(value: object) -> None:
    """A float would leak through its low bits; it never reaches the noise."""
    with pytest.raises(MechanismFault):
        statistic(value)(None)


@pytest.mark.parametrize(
    "value",
    [np.array([1, 2]), [1, 2], (1, 2), np.array([1, 2], dtype=np.uint8)],
    ids=repr,
)
def test_arrays_become_int64(value: object) -> None:
    """A declared shape gives an int64 array of that shape."""
    result = statistic(value, shape=2)(None)
    assert result.dtype == np.int64
    assert result.tolist() == [1, 2]


@pytest.mark.parametrize("value", [np.array([2**63], dtype=np.uint64), np.array([2**70])])
def test_wide_integers_are_kept(value: np.ndarray) -> None:
    """Integers beyond int64 do not wrap."""
    assert statistic(value, shape=1)(None).tolist() == value.tolist()


WIDE = [-(2**70), -(2**63) - 1, -(2**63), -1, 0, 1, 2**63 - 1, 2**63, 2**64, 2**70]


@pytest.mark.parametrize("values", list(product(WIDE, repeat=2)), ids=str)
def test_an_entry_does_not_change_the_type_of_others(values: tuple[int, int]) -> None:
    """numpy alone makes 2**63 beside -1 a float, and 2**63 beside 1 unsigned."""
    for given in (list(values), values, [np.array(each, dtype=object) for each in values]):
        assert statistic(given, shape=2)(None).tolist() == list(values)


def test_numpy_integers_of_several_types_mix() -> None:
    """An unsigned one beside a negative one is a float to numpy alone."""
    assert statistic([np.uint64(2**63), -1, np.int8(3)], shape=3)(None).tolist() == [2**63, -1, 3]


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        ([np.timedelta64(1, "s")], 1),
        (np.timedelta64(1, "s"), None),
        ([None, 1], 2),
        ([1, 2, 3], 2),
        ([[1, 2]], 2),
        (3, 1),
        ([1.0, 2.0], 2),
        ([True, False], 2),
        (np.array([1, True], dtype=object), 2),
        (np.array(["1", "2"]), 2),
        ([1, [2]], 2),
    ],
)
def test_another_shape_or_type_is_a_fault(value: object, shape: object) -> None:
    """The shape and being integers are part of the claim: checked at every evaluation."""
    with pytest.raises(MechanismFault):
        statistic(value, shape)(None)


@pytest.mark.parametrize("shape", [-1, True, (2, -1), "2", 1.5])
def test_a_bad_shape_is_refused(shape: object) -> None:
    """The sizes of a shape are counts."""
    with pytest.raises((ValueError, TypeError), match="shape"):
        statistic(1, shape)


def test_the_caller_cannot_change_the_datas_array() -> None:
    """The result is a copy: writing to it leaves the data alone."""
    data = np.array([1, 2])
    result = Statistic(lambda dataset: dataset, l1=1, l2=1, shape=2)(data)
    result[0] = 99
    assert data.tolist() == [1, 2]


@pytest.mark.parametrize("value", [True, np.False_])
def test_bits_are_bools(value: object) -> None:
    """A bit is a Python bool."""
    assert Bit(lambda dataset: value)(None) is bool(value)


@pytest.mark.parametrize("evaluate", [Bit, lambda function: Statistic(function, l1=1, l2=1)])
def test_exceptions_of_a_function_stay_inside(evaluate: Any) -> None:
    """The caller learns that it failed; the curator learns why."""
    with collecting() as faults, pytest.raises(MechanismFault) as caught:
        evaluate(raising(ValueError(SECRET)))(None)
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None
    assert str(faults[0]) == SECRET


def test_one_entry_moves_by_no_more_than_all() -> None:
    """`linf` follows from the norms, unless the user declares a smaller one."""
    assert Statistic(len, l1=3, l2=2).linf == 2
    assert Statistic(list, l1=3, l2=2, linf="1/2", shape=3).linf == Fraction(1, 2)
    for wrong in (3, -1, "x", None):
        with pytest.raises((TypeError, ValueError), match="linf"):
            Statistic(list, l1=3, l2=2, linf=wrong, shape=3)  # type: ignore[arg-type]
