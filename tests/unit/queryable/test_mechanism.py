"""Mechanisms, statistics, and losses that are known afterwards."""

from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any

import attrs
import numpy as np
import pytest

from composition import FiltCon
from mechanisms import Count, Gaussian
from queryable import (
    SYSTEM,
    ZCDP,
    ApproxDP,
    Bit,
    Coins,
    Failed,
    InteractiveMechanism,
    Launch,
    Measurement,
    MechanismFault,
    PrivacyClaimError,
    PureDP,
    Queryable,
    SeededCoins,
    Statistic,
    UnknownQueryError,
)
from queryable.conversation.stepping import Dead, advance, begin
from queryable.ex_post import Expense, ExPostMechanism, Opening
from queryable.faults import collecting
from queryable.mechanism import HIGHEST, nested
from queryable.messages import is_owners
from queryable.optional import as_filter
from queryable.streams.contributions import PerRecord
from queryable.streams.levels import Growth
from tests.strategies import SECRET, Faulty, RandomBits, RandomWord, Size, Toy, raising


def test_the_interface_is_small_and_its_map_is_the_loss() -> None:
    """Without a measure the mechanism's own loss, with one the converted loss."""
    toy = Toy(PureDP("0.1"))
    assert toy.privacy_map(1) == PureDP("0.1")
    assert toy.privacy_map(3) == PureDP("0.3")
    assert toy.privacy_map(1, ZCDP) == PureDP("0.1").to(ZCDP)
    assert toy.privacy_map(2, ApproxDP) == ApproxDP("0.2", 0)
    # A member that few mechanisms define is optional, or a field of `growth` or `per_record`.
    assert [name for name in dir(InteractiveMechanism) if not name.startswith("_")] == [
        *("coin_at_launch", "converses", "growth", "init", "loss", "neighbours", "per_record"),
        *("privacy_map", "reports_loss", "retires_others", "step", "understood"),
    ]
    # At run time the type parameter changes nothing.
    assert Size.__orig_bases__ == (Measurement[int],)  # type: ignore[attr-defined]
    q = Queryable(FiltCon(PureDP(1)), [1, 2])
    assert (q.launch(Size(), name="size"), q.launch(Size(), name="size"), q(Size())) == (2, 2, 2)
    assert len(q.ledger()) == 2


def test_defaults_of_the_interface() -> None:
    """The default of `loss` is a claim error, not zero."""

    class Lossless(Toy):
        def loss(self, d_in: int) -> PureDP:
            return InteractiveMechanism.loss(self, d_in)  # type: ignore[return-value]

    with pytest.raises(PrivacyClaimError, match="Lossless"):
        Lossless().privacy_map(1)
    # Only an odometer changes when it is launched at a given loss.
    bits = RandomBits()
    assert as_filter(bits, PureDP(1), 1) is bits
    # A measurement's answer is its opening, and every query after it is an error.
    state, answer = RandomWord().init(None, SeededCoins(1))
    assert isinstance(answer, int)
    for query in ("bits", None, Launch(RandomWord())):
        with pytest.raises(UnknownQueryError, match="answers once"):
            RandomWord().step(state, query)


def test_a_root_that_fails_is_dead() -> None:
    ran = []

    def function(dataset: object) -> None:
        ran.append(dataset)
        raise ValueError

    mechanism = Faulty(function)
    state, _ = begin(mechanism, "data", SYSTEM)
    state, answer = advance(mechanism, state, "bits", SYSTEM, 1)
    assert (state, answer) == (Dead(), Failed())
    assert advance(mechanism, state, "bits", SYSTEM, 2) == (Dead(), Failed())
    assert ran == ["data"]


@attrs.frozen
class Watching(RandomBits):
    """Takes batches, and says what records lose."""

    growth = Growth(from_any_history=True)
    per_record = PerRecord(Fraction(1, 2), raising(MechanismFault()))

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> Any:
        return (state, None) if is_owners(query) else super().step(state, query, coins)


class Stepping:
    """Answers queries, and nothing is known of it."""

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> Any:
        return state, query


def test_a_step_of_its_own_takes_no_batches() -> None:
    """Unless its class says so; also where the step comes from another base class."""

    class Overriding(Watching):
        def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> Any:
            return state, query

    class Mixed(Stepping, Watching):
        pass

    class Stated(Stepping, Watching):
        growth = Growth()

    class Named(Watching):
        public_name = "named"

    class Later(Overriding):
        pass

    assert Overriding.growth is Mixed.growth is Later.growth is None
    assert Stated.growth == Growth()
    assert Named.growth == Growth(from_any_history=True)


def test_what_records_lose_is_not_inherited() -> None:
    """A subclass may answer something else, whatever it overrides."""

    @attrs.frozen
    class Named(Watching):
        name: str = "named"

    class Louder(Gaussian):
        def release(self, dataset: Any, coins: Coins) -> Any:
            return 100 * super().release(dataset, coins)

    assert Watching().per_record is not None
    assert Named().per_record is None
    assert Gaussian(Count(), scale=9).per_record is not None
    assert Louder(Count(), scale=9).per_record is None


@pytest.mark.parametrize("wrong", [True, False, Growth])
def test_a_growth_is_a_value(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"growth of Wrong should be a Growth"):
        type("Wrong", (RandomBits,), {"growth": wrong})


@pytest.mark.parametrize("field", [each.name for each in attrs.fields(Growth)])
def test_what_a_growth_says_is_true_or_false(field: str) -> None:
    with pytest.raises(TypeError, match="True or False, not a"):
        Growth(**{field: 1})  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [True, 0.05, -1, Fraction(-1, 2), "1/20", None])
def test_what_a_record_loses_is_exact(wrong: Any) -> None:
    with pytest.raises(ValueError, match="loss_per_square should be a Fraction"):
        PerRecord(wrong, raising(MechanismFault()))


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
    assert Statistic(len, l1=0.1, l2="1/3").l1 == Fraction(1, 10)
    # `linf` follows from the norms, unless the user declares a smaller one.
    assert Statistic(len, l1=3, l2=2).linf == 2
    assert Statistic(list, l1=3, l2=2, linf="1/2", shape=3).linf == Fraction(1, 2)
    for wrong in (3, -1, "x", None):
        with pytest.raises((TypeError, ValueError), match="linf"):
            Statistic(list, l1=3, l2=2, linf=wrong, shape=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [3, np.int32(3), np.uint64(3), np.array(3), True])
def test_single_integers_become_python_ints(value: object) -> None:
    result = statistic(value)(None)
    assert type(result) is int
    assert result == int(value)  # type: ignore[call-overload]


@pytest.mark.parametrize("value", [3.0, np.float64(3), "3", None, [3], Fraction(3), 3 + 0j])
def test_a_value_that_is_no_integer_is_a_fault(value: object) -> None:
    """A float would leak through its low bits; it never reaches the noise."""
    with pytest.raises(MechanismFault):
        statistic(value)(None)


@pytest.mark.parametrize(
    "value", [np.array([1, 2]), [1, 2], (1, 2), np.array([1, 2], dtype=np.uint8)], ids=repr
)
def test_arrays_become_int64(value: object) -> None:
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
    # The result is a copy: writing to it leaves the data alone.
    data = np.array([1, 2])
    result = Statistic(lambda dataset: dataset, l1=1, l2=1, shape=2)(data)
    result[0] = 99
    assert data.tolist() == [1, 2]


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


@pytest.mark.parametrize("value", [True, np.False_])
def test_bits_are_bools(value: object) -> None:
    assert Bit(lambda dataset: value)(None) is bool(value)


@pytest.mark.parametrize("evaluate", [Bit, lambda function: Statistic(function, l1=1, l2=1)])
def test_exceptions_of_a_function_stay_inside(evaluate: Any) -> None:
    """The caller learns that it failed; the curator learns why."""
    with collecting() as faults, pytest.raises(MechanismFault) as caught:
        evaluate(raising(ValueError(SECRET)))(None)
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None
    assert str(faults[0]) == SECRET


class Free(Expense):
    """Costs nothing."""

    def epsilon(self, d_in: int) -> Fraction:
        return Fraction(0)

    def at_worst(self, query: Any, d_in: int) -> Fraction:
        return Fraction(0)

    def after(self, query: Any, answer: Any) -> Expense:
        return self


class Silent(ExPostMechanism[None]):
    """Says nothing."""

    def expense(self) -> Expense:
        return Free()

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[None, Any]:
        return None, None

    def step(self, state: None, query: Any, coins: Coins = SYSTEM) -> tuple[None, Any]:
        return state, None


def test_the_default_delta_of_an_expense_is_zero() -> None:
    """At every `d_in`. An expense does not give the mechanism a privacy map."""
    assert [Silent().delta(d_in) for d_in in (0, 1, 5)] == [0, 0, 0]
    with pytest.raises(PrivacyClaimError, match="Silent"):
        Silent().privacy_map(1)

    class Unstated(ExPostMechanism[None]):
        init, step = Silent.init, Silent.step

    class Careless(Expense):
        epsilon, after = Free.epsilon, Free.after

    for kind in (Unstated, Careless):
        with pytest.raises(TypeError, match="abstract"):
            kind()
    assert Opening() == Opening()


def test_mechanisms_are_nested_at_most_so_deep() -> None:
    inner: Any = SimpleNamespace(height=HIGHEST - 1)
    assert nested([inner]) == HIGHEST
    inner.height += 1
    with pytest.raises(ValueError, match=f"nested {HIGHEST + 1} deep"):
        nested([inner])
