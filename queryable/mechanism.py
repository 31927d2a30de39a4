"""Interactive mechanisms: randomised state machines (Haney et al. 2023, Definition 1.4).

Responsible for the interface alone. Knows no compositor, no handle, no noise.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar, final

import attrs

from queryable.answers import Noise
from queryable.errors import PrivacyClaimError, QueryError, UnknownQueryError
from queryable.faults import (
    called,
    contained_init,
    contained_step,
    current_scope,
    is_interrupt,
    report,
    what_stands,
)
from queryable.guarantees import Guarantee, documented
from queryable.losses.measures import Loss, Measure, genuine
from queryable.losses.numbers import natural
from queryable.messages import Answer, Failed, Query, plain
from queryable.randomness.coins import SYSTEM, ChildId, Coins
from queryable.receipts import Account

State = TypeVar("State")


class InteractiveMechanism(ABC, Generic[State]):
    """A randomised state machine that answers queries about a dataset.

    A subclass is an `attrs.frozen` description with no data in it. `init` and `step` are pure
    given their coins; states are frozen values. `init` is the paper's first message: it is kept
    apart from `step` so that no query can start a mechanism anew and so reset what it has spent.
    What a claim says is Haney et al. 2023, Definitions 1.7 and 2.2; by Lemma 2.3 there
    deterministic adversaries are enough.

    Privacy:
        Claim: for every adversary and all datasets that differ in `d_in` records added or
        removed, the law of the view loses at most `privacy_map(d_in)`.
    """

    reports_loss = False
    """Whether `step` answers `PrivacyLossQuery` itself; else a parent answers from the claim."""

    coin_at_launch = False
    """Whether any delta is paid by one coin tossed at the start (docs/theory.md, mixed children).
    Only such mechanisms compose interactively when all they have is approximate zCDP."""

    composes = False
    """Whether `step` touches data only through children, each behind `contained_step` with an
    `after`. What such a step raises by itself is not about the data: nothing has changed then.
    A subclass with a `step` of its own has to say so again."""

    @property
    def height(self) -> int:
        """How many mechanisms are nested in it at most, one in another."""
        return 0

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "step" in cls.__dict__ and "composes" not in cls.__dict__:
            cls.composes = False

    def loss(self, d_in: int) -> Loss:
        """The mechanism's own loss at `d_in` >= 1 records; `privacy_map` converts it."""
        raise PrivacyClaimError(f"{type(self).__name__} has no privacy loss of its own")

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """The loss at `d_in` records, in the mechanism's own measure or the best in another.

        Args:
            d_in: records that differ, added or removed; a substitution is 2.
            measure: what to state the loss in, a `Loss` class or `RDP.at(order)`.

        Raises:
            PrivacyClaimError: the mechanism has no loss of its own.
            ValueError: no theorem converts its loss to `measure`, or `d_in` is not a count.
        """
        own = self.loss(max(natural(d_in, "d_in"), 1))
        if not genuine(own):
            raise TypeError(f"its loss is of class {type(own).__name__}, not a loss")
        stated = own if measure is None else own.to(measure)
        return stated if d_in else stated.zero()

    @abstractmethod
    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[State, Answer]:
        """Read the dataset and give the opening answer, None where there is nothing to say."""

    @abstractmethod
    def step(self, state: State, query: Query, coins: Coins = SYSTEM) -> tuple[State, Answer]:
        """Answer one query.

        Raises:
            QueryError: the query is wrong. Raised before data or coins are touched.
        """

    @property
    def public_name(self) -> str:
        """What trees and ledgers call it: made of public facts alone, by default its class."""
        return type(self).__name__

    def guarantee(self) -> Guarantee:
        """In words, what is claimed and why; by default as the docstring's Privacy section says."""
        return documented(type(self))

    def account(self) -> Account | None:
        """Of a compositor, its empty account; None where its answers bring no receipts."""
        return None

    def started_with(self) -> "Mapping[ChildId, InteractiveMechanism[Any]]":
        """The children that its opening answer is about, in that order, where they are fixed."""
        return {}

    def added_noise(self) -> Noise | None:
        """What is added to a number to make the answer, where that is all that is done to it."""
        return None

    def within(self, d_out: Loss, d_in: int) -> "InteractiveMechanism[Any]":
        """What runs when it is launched with `d_out` at `d_in`; an odometer becomes a filter."""
        return self


HIGHEST = 100


def nested(mechanisms: "Iterable[InteractiveMechanism[Any]]") -> int:
    """The height of what holds these mechanisms.

    Raises:
        ValueError: they are nested so deeply that Python's stack might not hold them.
    """
    height = 1 + max((each.height for each in mechanisms), default=0)
    if not height <= HIGHEST:
        raise ValueError(f"mechanisms are nested {height} deep; it should be at most {HIGHEST}")
    return height


_LONGEST_NAME = 60


def public_name(mechanism: Any) -> str:
    """A mechanism's public name on one line, shortened; its class's where it gives none."""
    try:
        text = mechanism.public_name
    except Exception:
        text = None
    if not isinstance(text, str) or not text.strip():
        text = type(mechanism).__name__
    return one_line(text)


def one_line(text: str) -> str:
    """A text on one line, shortened, without what would move a terminal's cursor."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if len(line) <= _LONGEST_NAME else f"{line[: _LONGEST_NAME - 3]}..."


@attrs.frozen
class Released:
    """The state of a measurement: it has answered."""


class Measurement(InteractiveMechanism[Released]):
    """A noninteractive mechanism: it answers once, at `init`."""

    coin_at_launch = True

    @abstractmethod
    def release(self, dataset: Any, coins: Coins) -> Answer:
        """The answer."""

    @final
    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Released, Answer]:
        """Answer, once."""
        return Released(), self.release(dataset, coins)

    @final
    def step(self, state: Released, query: Query, coins: Coins = SYSTEM) -> tuple[Released, Answer]:
        """Refuse: a measurement has already answered."""
        raise UnknownQueryError("a measurement answers once, when it is launched")


@attrs.frozen
class Dead:
    """The state of a root mechanism that failed: it answers `Failed()` for ever."""


def begin(mechanism: InteractiveMechanism[Any], dataset: Any, coins: Coins) -> tuple[Any, Answer]:
    """Start a root mechanism; the coins of its n-th message are `coins.spawn("root", n)`."""
    started = contained_init(lambda: mechanism.init(dataset, coins.spawn("root", 0)))
    return alive(started)


def alive(moved: Any) -> tuple[Any, Answer]:
    """What a root has moved to, dead where it is lost."""
    return (Dead(), Failed()) if moved is None else moved


def advance(
    mechanism: InteractiveMechanism[Any], state: Any, query: Query, coins: Coins, message: int
) -> tuple[Any, Answer]:
    """One step of a root mechanism, contained.

    Raises:
        QueryError: the query is wrong; the old state stands.
        KeyboardInterrupt: or another interrupt, before any data were touched; the old state stands.
    """
    state, answer = advance_with_receipts(mechanism, state, query, coins, message)
    return state, plain(answer)


def advance_with_receipts(
    mechanism: InteractiveMechanism[Any], state: Any, query: Query, coins: Coins, message: int
) -> tuple[Any, Answer]:
    """As `advance`, but the answer may be wrapped in `Answered`."""
    if isinstance(state, Dead):
        return state, Failed()
    scope = current_scope()
    if scope is not None:
        scope.start()
    try:
        return alive(
            contained_step(
                lambda: mechanism.step(state, query, coins.spawn("root", message)),
                alive,
                composes=mechanism.composes,
            )
        )
    except BaseException as raised:
        fault = raised
    try:
        if scope is not None and scope.lost is not None:
            report(fault)
            return alive(what_stands(scope.lost))
        if isinstance(fault, QueryError) or is_interrupt(fault):
            raise fault
        raise QueryError(
            f"this query cannot be worked out ({called(type(fault))}); nothing was read, and "
            "nothing has changed"
        )
    finally:
        del fault  # its traceback has this frame
