"""Interactive mechanisms: randomised state machines (Haney et al. 2023, Definition 1.4).

Responsible for the interface alone, with the members that theorems and compositors need. Members
that only displays read are optional and are listed in `queryable.optional`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Generic, NoReturn, TypeVar, final

import attrs

from queryable.errors import PrivacyClaimError, UnknownQueryError
from queryable.losses import Loss, Measure
from queryable.losses.loss import genuine
from queryable.losses.numbers import natural
from queryable.randomness.coins import SYSTEM, Coins
from queryable.streams.contributions import PerRecord
from queryable.streams.levels import DataLevel, EventLevel, Growth, Neighbours

Query = Any
"""A query is any value that the mechanism understands; `messages` has those of compositors."""

Answer = Any
"""An answer is any value that the mechanism gives."""

State = TypeVar("State")
Answer_co = TypeVar("Answer_co", covariant=True)


_EVENTS, _DATA = EventLevel(), DataLevel()


class InteractiveMechanism(ABC, Generic[State]):
    """A randomised state machine that answers queries about a dataset.

    A subclass is an `attrs.frozen` description that holds no data. `init` and `step` are pure
    functions of their arguments and their coins; states are frozen values. `init` is the paper's
    first message. It is a method of its own so that no query can start the mechanism again and
    reset its accounting. Privacy claims are defined in Haney et al. 2023, Definitions 1.7 and 2.2;
    by Lemma 2.3 there, deterministic adversaries suffice.

    Privacy:
        Claim: for every adversary and all datasets that differ in `d_in` records added or
        removed, the law of the view loses at most `privacy_map(d_in)`.
    """

    reports_loss = False
    """Whether `step` answers `PrivacyLossQuery`; otherwise a parent answers it from the claim."""

    coin_at_launch = False
    """Whether any delta is paid by one coin that is tossed in `init`.

    A mechanism whose only loss is approximate zCDP composes interactively only if this holds
    (docs/theory.md, mixed children)."""

    retires_others = False
    """Whether a launch of it retires the children that were launched before it."""

    converses: ClassVar[bool] = False
    """Whether it reads data through others alone, by conversations: see `queryable.conversation`.
    All others are leaves: their `init` and `step` read data."""

    growth: Growth | None = None
    """What it does with the batches of data that grow; None: it keeps those of its launch.

    A class that overrides `step` states it anew, and otherwise has None. If it is not None, the
    claim is about streams that are `neighbours`."""

    per_record: PerRecord | None = None
    """What single records lose; None where only the privacy map is known. Each class states its
    own: a subclass that does not has None, because it may answer something else."""

    @property
    def neighbours(self) -> Neighbours | None:
        """In what neighbouring data or streams differ, for its claim; None: as for those in it.

        By default single records if it takes batches, and otherwise what the data protect. That it
        runs other mechanisms needs no word here: `protection.levels_of` looks through it.
        """
        return _DATA if self.growth is None else _EVENTS

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        first = next(each for each in cls.__mro__ if vars(each).keys() & {"step", "growth"})
        if "growth" not in vars(first):
            cls.growth = None  # its `step` may not know the owner's messages
        if "per_record" not in vars(cls):
            cls.per_record = None
        if isinstance(cls.growth, bool | type):
            raise TypeError(f"growth of {cls.__name__} should be a Growth, such as Growth()")

    def loss(self, d_in: int) -> Loss:
        """The loss at `d_in` >= 1 records in the mechanism's own measure.

        Override this method; `privacy_map` converts its result.
        """
        raise PrivacyClaimError(f"{type(self).__name__} has no privacy loss of its own")

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """The loss at `d_in` records, in the mechanism's own measure or the best one in another.

        Args:
            d_in: records that differ, added or removed; a substitution is 2.
            measure: the measure of the result, a `Loss` class or `RDP.at(order)`.

        Raises:
            PrivacyClaimError: the mechanism has no loss of its own.
            ValueError: no theorem converts its loss to `measure`, or `d_in` is not a count.
        """
        own = self.loss(max(natural(d_in, "d_in"), 1))
        if not genuine(own):
            raise TypeError(f"its loss is of class {type(own).__name__}, not a loss")
        stated = own if measure is None or measure is type(own) else own.to(measure)
        return stated if d_in else stated.zero()

    @abstractmethod
    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[State, Answer]:
        """Read the dataset and return the first state and the opening answer, None if empty."""

    @abstractmethod
    def step(self, state: State, query: Query, coins: Coins = SYSTEM) -> tuple[State, Answer]:
        """Answer one query.

        Raises:
            QueryError: the query is wrong. Raised before data or coins are touched.
        """

    def understood(self, query: Query) -> Query:
        """The query as plain data; by default the query itself, whatever it is.

        A query is an object of the analyst and may give other values when it is read again. The
        result of this method is what is checked, answered and charged by ex-post compositors. A
        list of queries is checked by it before the charge (`queryable.checks.dry_runs`). A subclass
        whose
        `step` answers other queries overrides it.

        Raises:
            QueryError: the query is wrong, whatever was answered before.
        """
        return query


HIGHEST = 40


def nested(mechanisms: Iterable[InteractiveMechanism[Any]]) -> int:
    """The height of a mechanism that holds these mechanisms.

    Raises:
        ValueError: they are nested so deeply that Python's stack might overflow.
    """
    height = 1 + max((getattr(each, "height", 0) for each in mechanisms), default=0)
    if not height <= HIGHEST:
        raise ValueError(f"mechanisms are nested {height} deep; it should be at most {HIGHEST}")
    return height


@attrs.frozen
class AfterRelease:
    """The state of a measurement after its only answer."""


_AFTER_RELEASE = AfterRelease()


class Measurement(InteractiveMechanism[AfterRelease], Generic[Answer_co]):
    """A noninteractive mechanism: it answers once, at `init`.

    The type parameter is the type of that answer. A class that states it, such as
    `class Parity(Measurement[bool])`, gives `Queryable.launch` the same return type.
    """

    coin_at_launch = True

    def has_number(self, of: str | int | None) -> bool | None:
        """Whether every answer has one number at `of`; None if that is not known. Public.

        Args:
            of: the name of a field of the answer, or a place in it; None is the answer itself.
        """
        return None

    @abstractmethod
    def release(self, dataset: Any, coins: Coins) -> Answer_co:
        """Read the dataset and return the answer."""

    @final
    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[AfterRelease, Answer_co]:
        """Return the answer of `release` as the opening answer."""
        return _AFTER_RELEASE, self.release(dataset, coins)

    @final
    def understood(self, query: Query) -> NoReturn:
        """Raise `UnknownQueryError`: a measurement answers no queries."""
        raise UnknownQueryError("a measurement answers once, when it is launched")

    @final
    def step(
        self, state: AfterRelease, query: Query, coins: Coins = SYSTEM
    ) -> tuple[AfterRelease, Answer]:
        """Raise `UnknownQueryError`: a measurement answers no queries."""
        self.understood(query)
