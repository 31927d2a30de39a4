"""Statistics: functions of the data with declared sensitivity and shape.

Responsible for evaluating a statistic inside the fault boundary, and for checking that the result
has the declared shape and consists of integers.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar, Literal

import attrs
import numpy as np

from queryable.answers.noisy import narrowed
from queryable.answers.released import Released
from queryable.data.watching import WATCHER, watched
from queryable.errors import QueryError
from queryable.faults import touching_data
from queryable.losses import Loss, Measure
from queryable.losses.numbers import Number, exact, natural, shown
from queryable.mechanism import Measurement
from queryable.streams.contributions import Contributions
from queryable.wording.quoting import quoted

_INTEGERS: tuple[Any, ...] = (int, np.integer, np.bool_)
_NO_ENTRIES: tuple[Any, ...] = (bool, np.bool_, np.timedelta64)  # numpy takes them for integers


Monotone = Literal["up", "down"]
"""Which way all entries of a statistic move, if at all, when a record is added."""
_WAYS: tuple[Any, ...] = ("up", "down", None)


class Releasable(ABC):
    """What `Queryable.release` takes: it knows which noise fits a budget."""

    @abstractmethod
    def measurement(
        self,
        measure: Measure,
        d_in: int,
        *,
        within: Number | None = None,
        confidence: Number | None = None,
        loss: Loss | None = None,
    ) -> Measurement[Released]:
        """The measurement to launch where losses are stated in `measure` at `d_in` records.

        It depends on its arguments alone. Exactly one of `within` and `loss` is given; see
        `Queryable.release`.

        Raises:
            QueryError, TypeError, ValueError: an argument does not fit.
        """


class Checked(ABC):
    """A field of a mechanism that is checked against public facts of the data before a charge."""

    checks_all: ClassVar[bool] = False
    """Whether `check` looks at all that it holds. Otherwise what it holds is checked by itself."""

    @abstractmethod
    def check(self, dataset: Any) -> None:
        """Check that it fits what is public about the data. Reads no rows.

        Raises:
            KeyError, TypeError, ValueError: it does not fit; the text says why.
        """


class IntegerStatistic(Releasable, Checked):
    """An integer-valued function of the data, of declared sensitivity.

    Attributes:
        l1: bound on the L1 norm of the change when one record is added or removed.
        l2: the same in the L2 norm.
        linf: the same for each single entry; by default what l1 and l2 imply.
        shape: None for one integer, else the shape of the array.
        monotone: "up" if adding a record lowers no entry, whatever the data and the record are;
            "down" if it raises none; None if neither is known.
        step: what one unit of an entry stands for in the units of the data; None if what is
            estimated is no multiple of one entry.
        steps: what an evaluation takes beside reading the data; see `Effort`.
    """

    steps: int = 0
    l1: Fraction
    l2: Fraction
    shape: tuple[int, ...] | None
    monotone: Monotone | None = None
    step: Fraction | None = Fraction(1)

    @property
    def linf(self) -> Fraction:
        """The most that one entry moves when one record is added or removed."""
        return min(exact(self.l1, "l1"), exact(self.l2, "l2"))

    @property
    def public_name(self) -> str:
        """The name in trees and ledgers, by default that of the class. It must be public."""
        return type(self).__name__

    @property
    def asked(self) -> str:
        """The whole question, for the names of mechanisms: by default `public_name`. Public."""
        return self.public_name

    def measurement(
        self,
        measure: Measure,
        d_in: int,
        *,
        within: Number | None = None,
        confidence: Number | None = None,
        loss: Loss | None = None,
    ) -> Measurement[Released]:
        """Raise: only statistics of tables choose their noise themselves.

        Raises:
            QueryError: always, unless a subclass overrides it.
        """
        raise QueryError(
            "launch Gaussian(statistic, rho=..) or Laplace(statistic, epsilon=..): "
            f"{type(self).__name__} does not choose its noise itself, as statistics of tables do"
        )

    def check(self, dataset: Any) -> None:
        """Check that it fits what is public about the data, before it is charged. Reads no rows.

        The default checks nothing.

        Raises:
            KeyError, TypeError, ValueError: it does not fit; the text says why.
        """

    @property
    def by_record(self) -> bool:
        """Whether the value is a sum over records, and `contributions` says what each adds. Public.

        What a record adds has to depend on that record alone.
        """
        return False

    def contributions(self, dataset: Any) -> Contributions:
        """What each record adds. It reads data, so it runs inside the fault boundary.

        Raises:
            TypeError: `by_record` is False.
        """
        raise TypeError(f"{type(self).__name__} does not say what a record adds")

    @abstractmethod
    def value(self, dataset: Any) -> Any:
        """The exact value. Exceptions may be raised; their text does not reach the analyst."""

    def __call__(self, dataset: Any) -> Any:
        """The value, checked: an int, or an int64 or object array of `shape`.

        Raises:
            MechanismFault: the evaluation failed; the curator gets the details.
        """
        if WATCHER.get() is None:
            return touching_data(lambda: self._checked(self.value(dataset)))
        return watched(
            self, dataset, lambda: touching_data(lambda: self._checked(self.value(dataset)))
        )

    def _checked(self, value: Any) -> Any:
        if self.shape is None:
            if isinstance(value, np.ndarray) and value.shape == ():
                value = value.item()
            if not isinstance(value, _INTEGERS) or isinstance(value, np.timedelta64):
                raise TypeError(f"the statistic gave {type(value).__name__}, not an integer")
            return int(value)
        array = value if hasattr(value, "__array__") else np.array(value, dtype=object)
        array = np.asarray(array)
        if array.shape != self.shape:
            raise ValueError(f"the statistic has shape {array.shape}, {self.shape} was declared")
        if array.dtype == object:
            return _integers(array)
        if array.dtype == np.uint64:
            return array.astype(object)
        if not np.issubdtype(array.dtype, np.integer) or array.dtype.kind == "m":
            raise TypeError(f"the statistic gave {array.dtype}, not integers")
        return array.astype(np.int64)


def _integers(array: Any) -> Any:
    """The entries as int64 where all of them fit, else as Python integers."""
    integers = np.empty(array.shape, dtype=object)
    for place, entry in np.ndenumerate(array):
        number: Any = entry.item() if isinstance(entry, np.ndarray) and entry.shape == () else entry
        if not isinstance(number, _INTEGERS) or isinstance(number, _NO_ENTRIES):
            raise TypeError(f"the statistic gave {type(entry).__name__} entries, not integers")
        integers[place] = int(number)
    return narrowed(integers)


def _shape(value: Any) -> tuple[int, ...] | None:
    if value is None:
        return None
    sizes = value if isinstance(value, tuple) else (value,)
    return tuple(natural(size, "shape") for size in sizes)


def _l1(value: Any) -> Fraction:
    return exact(value, "l1")


def _l2(value: Any) -> Fraction:
    return exact(value, "l2")


def _linf(value: Any) -> Fraction:
    return exact(value, "linf")


def _monotone(value: Any) -> Monotone | None:
    if not isinstance(value, str | None) or value not in _WAYS:
        raise ValueError(
            f'monotone is {quoted(value)}; it should be "up" if adding a record lowers no entry, '
            '"down" if it raises none, or None'
        )
    return value  # type: ignore[return-value]


@attrs.frozen
class Statistic(IntegerStatistic):
    """A user's function of the data with sensitivities that the user guarantees.

    Args:
        function: a function from the data to an int, or to an integer array of `shape`.
        l1, l2: bounds on the change in these norms when one record is added or removed. They have
            no default: they cannot be checked, and every claim depends on them.
        linf: a bound on the change of each single entry. The default is the smaller one of l1 and
            l2. Declare it if one record counts in many entries: for mechanisms that choose by
            scores it is far below their sum.
        shape: the shape of the array, or None for one integer. It is part of the claim and is
            checked at every evaluation.
        monotone: "up" for counts and other statistics that no added record lowers, "down" for
            those that no added record raises. Declare it only if it holds for all data.
    """

    function: Callable[[Any], Any] = attrs.field(validator=attrs.validators.is_callable())
    l1: Fraction = attrs.field(kw_only=True, converter=_l1)
    l2: Fraction = attrs.field(kw_only=True, converter=_l2)
    shape: tuple[int, ...] | None = attrs.field(kw_only=True, default=None, converter=_shape)
    monotone: Monotone | None = attrs.field(kw_only=True, default=None, converter=_monotone)
    linf: Fraction = attrs.field(kw_only=True, converter=_linf)

    @linf.default
    def _implied(self) -> Fraction:
        return min(self.l1, self.l2)

    def __attrs_post_init__(self) -> None:
        """Check that one entry moves by no more than all of them.

        Raises:
            ValueError: linf is above l1 or l2.
        """
        if not self.linf <= min(self.l1, self.l2):
            raise ValueError(
                f"linf is {shown(self.linf)}; it should be at most l1, {shown(self.l1)}, and l2, "
                f"{shown(self.l2)}"
            )

    def value(self, dataset: Any) -> Any:
        """The value of `function`."""
        return self.function(dataset)


@attrs.frozen
class Bit:
    """A yes-or-no function of the data; any change of the data may flip it."""

    function: Callable[[Any], Any] = attrs.field(validator=attrs.validators.is_callable())

    def __call__(self, dataset: Any) -> bool:
        """The bit.

        Raises:
            MechanismFault: the evaluation failed; the curator gets the details.
        """
        bit: bool = watched(
            self, dataset, lambda: touching_data(lambda: self._checked(self.function(dataset)))
        )
        return bit

    @staticmethod
    def _checked(value: Any) -> bool:
        if not isinstance(value, bool | np.bool_):
            raise TypeError(f"the function gave {type(value).__name__}, not a bool")
        return bool(value)
