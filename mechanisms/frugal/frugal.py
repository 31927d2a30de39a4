"""`Frugal`: a person in the middle that buys only what earlier answers do not already say."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import prod
from typing import Any

import attrs
import numpy as np
from immutables import Map

from mechanisms.frugal.asking import Question, itself, question_of, step_of
from mechanisms.frugal.books import Book, Purchase
from mechanisms.frugal.frugal_queries import Estimate, Estimated
from mechanisms.frugal.joint_launch import GaussiansTogether
from mechanisms.frugal.pricing import price
from mechanisms.frugal.spread import Spread, Spreads
from mechanisms.tables.requests.keys import groups_of
from mechanisms.tables.requests.request import Groups
from mechanisms.tables.statistics.aggregates import Aggregate
from mechanisms.tables.statistics.counts import Count
from mechanisms.tables.statistics.group_by import GroupBy
from queryable.answers.half_widths import confidence_of
from queryable.data.frozen import read_only
from queryable.effort import Effort, require_short_answer
from queryable.errors import QueryError
from queryable.losses import ZCDP
from queryable.losses.numbers import positive, shown
from queryable.messages import Launch, Launched, Refused
from queryable.postprocessing import (
    FromAnalyst,
    FromMechanism,
    PersonInTheMiddle,
    ToAnalyst,
    ToMechanism,
)
from queryable.randomness.coins import Coins
from queryable.statistics import IntegerStatistic
from queryable.wording.quoting import quoted

_LEAST = Fraction(1, 2)
_TRIES = 12
_STEPS_OF_PLANNED = 60
_CHARACTERS, _CHARACTERS_OF_ENTRY = 700, 175  # of an estimate, as it is written to a ledger
_NEAR = Fraction(98, 100)  # nearer to the half-width that is asked for, less would hardly be bought
_PLANNED = 0.995  # a half-width is a little more than the quantile of a Gaussian of the variance


@attrs.frozen
class Wanted:
    """A query that was read: what is asked, how accurately, and for which questions it holds.

    `within` is in multiples of the statistic's unit.
    """

    question: Question
    within: Fraction
    missed: Fraction
    fixed_in_advance: bool

    @property
    def alone(self) -> float:
        """The variance of a launch of its own that is as accurate, if a unit changes it by 1."""
        deviations = float(_deviations(self.missed))
        return float(self.within) ** 2 / deviations**2 / float(self.question.base.l1) ** 2

    def price(self, base: Aggregate) -> Fraction:
        """What a question this accurate about `base` costs on its own: a precision."""
        return Fraction(1 / (self.alone * float(base.l1) ** 2))


@attrs.frozen(eq=False)
class WaitingPurchase:
    """What is being bought, and what it is for.

    Attributes:
        book: as it is before the purchases.
        before: the number of ledgers when the question was asked; None if it was bought before.
        renting: if the question is bought on its own, the book that notes what was paid for it.
        cheaper: what is bought if this is refused.
    """

    wanted: Wanted
    asked: Question
    book: Book
    purchases: tuple[Purchase, ...]
    before: int | None
    renting: Book | None = None
    cheaper: "WaitingPurchase | None" = None

    @property
    def launch(self) -> GaussiansTogether:
        """All purchases as one launch."""
        return GaussiansTogether([self.book.measurement(each) for each in self.purchases])


@attrs.frozen(eq=False)
class FrugalState:
    """What a person knows. All of it is public.

    Attributes:
        ledgers: how many there are.
        bought: the statistics for which something was bought.
        chosen: whether a question was answered that may depend on answers.
        pending: what is being bought.
    """

    books: "Map[Aggregate, Book]"
    ledgers: int = 0
    bought: "Map[Aggregate, None]" = Map()
    chosen: bool = False
    pending: WaitingPurchase | None = None


Reply = tuple[FrugalState, ToMechanism | ToAnalyst]


def _plan(value: Any) -> tuple[Aggregate, ...]:
    if isinstance(value, IntegerStatistic) or not isinstance(value, tuple | list):
        raise TypeError(
            f"plan is {quoted(value)}; it should be a list of statistics. Groups are axes="
        )
    for each in value:
        try:
            question_of(each)
        except QueryError as error:
            raise TypeError(f"plan: {error}") from None
    return tuple(value)


def _axes(value: Any) -> tuple[Groups, ...]:
    if isinstance(value, tuple) and not value:
        return ()
    groups = groups_of(value)
    for each in groups:
        try:
            question_of(GroupBy((each,), Count()))
        except QueryError as error:
            raise TypeError(f"axes: {error}") from None
    return groups


def _patience(value: Any) -> Fraction:
    return positive(value, "patience")


@attrs.frozen
class Frugal(PersonInTheMiddle[FrugalState]):
    """Never buys twice what can be worked out from what was bought; `Frugal() @ FiltCon(ZCDP(..))`.

    Answers: `Estimate` with an `Estimated`. Every other query goes to the mechanism below. An
    estimate is worked out from all earlier releases of the same sum of rows by generalised least
    squares, for nothing if that is accurate enough. Otherwise the cheapest precision is bought that
    makes it so: of combinations over the columns that the question names, which serve other
    questions about them too, or of the question alone where that is much cheaper. What is bought
    depends on the questions and the budget only, never on answers. Estimates of one sum of rows are
    consistent: parts add up to totals, up to the rounding of weights.

    Privacy:
        Claim: what the compositor below is charged.
        Theorem: docs/theory/proofs/frugal.md; a postprocessing of Gaussian launches (Haney et al.
            2023, Theorems 2.17 and 4.10).
        Assumes: nothing further about privacy. Intervals assume at most 10^10 rows.
        Checked by: tests/audit/test_mechanisms.py

    Args:
        plan: statistics that will be asked. When one of the columns of a question is bought, enough
            is bought for all planned statistics about these columns, in the shape that fits them.
        axes: public groups into which columns are cut from the start, written as the keys of a
            `GroupBy`. Without them a column is cut by the questions about it, and at constants that
            are likely to be asked next.
        patience: how many times the price of a question on its own is paid at most for
            combinations that serve other questions too. What was paid for questions about the same
            columns on their own is counted with it. Once, if the question may depend on answers.
            Combinations that cost at most what all planned questions about the columns would cost
            on their own are bought too.
            All questions together cost at most so many times the price of the question more than
            each on its own, where they can be bought on their own.
    """

    plan: tuple[Aggregate, ...] = attrs.field(default=(), converter=_plan)
    axes: tuple[Groups, ...] = attrs.field(default=(), converter=_axes, kw_only=True)
    patience: Fraction = attrs.field(default=Fraction(12), converter=_patience, kw_only=True)

    continual = False  # it combines answers about one data set
    states_costs = True

    @property
    def effort(self) -> Effort:
        """The boxes of the planned statistics."""
        boxes = sum(prod(each.shape or ()) for each in self.plan)
        return Effort(100 + _STEPS_OF_PLANNED * boxes)

    def init(self) -> FrugalState:
        """The books of the planned statistics, empty."""
        books: Map[Aggregate, Book] = Map()
        for statistic in self.plan:
            question = question_of(statistic)
            book = books.get(question.base) or self._book(question.base)
            cut = book.cut(question.boxes, told=True)
            if cut is not None:
                books = books.set(
                    question.base, attrs.evolve(cut, wishes=(*cut.wishes, *question.boxes))
                )
        return FrugalState(books)

    def _book(self, base: Aggregate) -> Book:
        book = Book(base)
        for each in self.axes:
            boxes = question_of(GroupBy((each,), Count())).boxes
            book = book.cut(boxes, told=True) or book
        return book

    def priced(self, launches: Sequence[Any]) -> ZCDP:
        """What the questions of these `Gaussian` launches would cost through this person.

        They are asked in this order, each as accurate as the launch, and fixed in advance. Reads no
        data. `recommend` compares it with the launches.

        Raises:
            ValueError: one is no `Gaussian` of a count or sum that can be estimated.
        """
        return price(self, launches)

    def step(self, state: FrugalState, message: FromAnalyst | FromMechanism, coins: Coins) -> Reply:
        """Estimate from what there is, or buy what is missing first."""
        match message:
            case FromMechanism(answer):
                if state.pending is None:
                    return state, ToAnalyst(answer)
                return self._on_answer(state, state.pending, answer)
            case FromAnalyst(Estimate() as query):
                wanted = wanted_of(query)
                if wanted.fixed_in_advance and state.chosen:
                    raise QueryError(
                        "leave out fixed_in_advance=True: an earlier question to this person was "
                        "asked without it, so what is known may depend on answers. Ask questions "
                        "that are fixed in advance first, or of a person of their own"
                    )
                return self._asked(state, wanted)
            case FromAnalyst(IntegerStatistic()):
                raise QueryError("say how accurate: Estimate(statistic, within=..)")
        return state, ToMechanism(message.query)

    def _asked(self, state: FrugalState, wanted: Wanted) -> Reply:
        question = wanted.question
        book = (state.books.get(question.base) or self._book(question.base)).cut(question.boxes)
        single = itself(question)
        own = state.books.get(single.base) or Book(single.base)
        require_short_answer(_CHARACTERS + len(question.boxes) * _CHARACTERS_OF_ENTRY, "estimates")
        for each, there in ((question, book), (single, own)):
            if there is not None and (each is question or question.shape is None):
                found = _answer(there, each, wanted, None, Fraction(0))
                if found is not None and _good(found, wanted):
                    return _free(state, wanted), ToAnalyst(found)
        before = None if question.itself in state.bought else state.ledgers
        shared = None if book is None else _bought(book, question, wanted, state.ledgers, before)
        alone = None
        if question.shape is None:
            alone = _bought(own, single, wanted, state.ledgers, before)
        buying = self._chosen(book, shared, own, alone, wanted, before)
        return attrs.evolve(state, pending=buying), ToMechanism(Launch(buying.launch))

    def _chosen(
        self,
        book: Book | None,
        shared: list[Purchase] | None,
        own: Book,
        alone: list[Purchase] | None,
        wanted: Wanted,
        before: int | None,
    ) -> WaitingPurchase:
        question, single, most = wanted.question, None, None
        if alone is not None:
            single, most = (
                WaitingPurchase(wanted, itself(question), own, tuple(alone), before),
                _price(alone),
            )
        if book is not None and single is not None and most is not None:
            component = book.component(question.boxes)
            paid = book.rent.get(component, Fraction(0)) + most
            rented = attrs.evolve(book, rent=book.rent.set(component, paid))
            single = attrs.evolve(single, renting=rented)
            if wanted.fixed_in_advance:  # otherwise later answers from combinations are wide
                most = min(self.patience * paid, book.saved + (1 + self.patience) * most)
                most = max(most, len(book.planned(question.boxes)) * wanted.price(book.base))
        if book is not None and shared is not None and (most is None or _price(shared) <= most):
            cheaper = single if alone is not None and _price(alone) < _price(shared) else None
            return WaitingPurchase(wanted, question, book, tuple(shared), before, cheaper=cheaper)
        if single is None:
            raise QueryError(
                "ask for fewer entries, fewer columns at once or less accuracy: combinations of "
                "counts do not reach it"
            )
        return single

    def _on_answer(self, state: FrugalState, pending: WaitingPurchase, answer: Any) -> Reply:
        if isinstance(answer, Refused) and pending.cheaper is not None:
            launch = Launch(pending.cheaper.launch)
            return attrs.evolve(state, pending=pending.cheaper), ToMechanism(launch)
        if not isinstance(answer, Launched):  # refused or failed: nothing was bought
            return attrs.evolve(state, pending=None), ToAnalyst(answer)
        book, number = pending.book, state.ledgers
        for purchase, noisy in zip(pending.purchases, answer.answer, strict=True):
            number += purchase.place < 0
            book = book.after(purchase, number, np.asarray(noisy))
        books = state.books.set(pending.asked.base, book)
        if pending.renting is not None and pending.renting.base != book.base:
            books = books.set(pending.renting.base, pending.renting)
        paid = pending.launch.loss(1).rho
        books = _noted(books, pending.wanted, _price(pending.purchases))
        found = _answer(book, pending.asked, pending.wanted, pending.before, paid)
        assert found is not None
        bought = state.bought.set(pending.wanted.question.itself, None)
        chosen = state.chosen or not pending.wanted.fixed_in_advance
        return FrugalState(books, number, bought, chosen), ToAnalyst(found)


def wanted_of(query: Estimate) -> Wanted:
    """Read a query.

    Raises:
        QueryError: it is wrong.
    """
    try:
        within, confidence = positive(query.within, "within"), confidence_of(query.confidence)
    except (TypeError, ValueError) as error:
        raise QueryError(str(error)) from None
    if not confidence <= 1 - Fraction(1, 10**12):
        raise QueryError(
            f"confidence is {quoted(query.confidence)}; it should be at most 1 - 10**-12"
        )
    fixed = query.fixed_in_advance
    if not isinstance(fixed, bool):
        raise QueryError(f"fixed_in_advance is {quoted(fixed)}; it should be True or False")
    try:
        question = question_of(query.statistic)
    except (TypeError, ValueError) as error:
        raise QueryError(str(error)) from None
    unit = step_of(question.itself)
    if not within >= _LEAST * unit:
        raise QueryError(f"within is {shown(within)}; it should be at least {shown(_LEAST * unit)}")
    return Wanted(question, within / unit, 1 - confidence, fixed)


def _deviations(missed: Fraction) -> Fraction:
    spread = Spread(Fraction(1), Fraction(0), 0, Fraction(0), Fraction(1), ())
    return spread.in_advance(missed)


def _free(state: FrugalState, wanted: Wanted) -> FrugalState:
    chosen = state.chosen or not wanted.fixed_in_advance
    return attrs.evolve(state, books=_noted(state.books, wanted, Fraction(0)), chosen=chosen)


def _noted(books: "Map[Aggregate, Book]", wanted: Wanted, paid: Fraction) -> "Map[Aggregate, Book]":
    """The books after a question, with what it cost and what it would have cost on its own."""
    book = books.get(wanted.question.base)
    if book is None:
        return books
    return books.set(book.base, book.asked(wanted.price(book.base), paid))


def _price(purchases: Iterable[Purchase]) -> Fraction:
    return sum((each.precision for each in purchases), Fraction(0))


def _good(found: Estimated, wanted: Wanted) -> bool:
    return all(
        each.half_width(wanted.missed, fixed_in_advance=wanted.fixed_in_advance) <= wanted.within
        for each in found.spreads
    )


def _bought(
    book: Book, question: Question, wanted: Wanted, ledgers: int, before: int | None
) -> list[Purchase] | None:
    """The launches after which the answer is accurate enough, for it and for what is planned."""
    fixed = wanted.fixed_in_advance
    wishes = book.planned(question.boxes)
    boxes = [*question.boxes, *wishes]
    variance = wanted.alone * float(book.base.l1) ** 2
    enough, best, wide = None, 0.0, None  # variances: of purchases that suffice, and too large
    for _ in range(_TRIES):
        later_ones = [variance * _PLANNED] * len(wishes)
        purchases = book.purchases(boxes, [variance] * len(question.boxes) + later_ones)
        if purchases is None:
            break
        later, number = book, ledgers
        for each in purchases:
            number += each.place < 0
            later = later.after(each, number)
        widths = []
        for box in question.boxes:
            found = later.estimated(box, before)
            if found is None:
                return None
            width = found[1].half_width(wanted.missed, fixed_in_advance=fixed)
            widths.append((width, float(found[1].variance)))
        width, reached = max(widths)
        if width <= wanted.within:
            enough, best = purchases, variance
            if wide is None or width >= _NEAR * wanted.within:
                break
        else:
            wide = min(variance, reached)  # what there is may be more accurate than what was tried
        if enough is not None and wide is not None:
            variance = (best * wide) ** 0.5
        else:
            variance = min(variance, reached) * float(wanted.within / width) ** 2 * 0.998
    return enough


def _answer(
    book: Book, question: Question, wanted: Wanted, before: int | None, paid: Fraction
) -> Estimated | None:
    values, spreads, used = [], [], set()
    for box in question.boxes:
        found = book.estimated(box, before)
        if found is None:
            return None
        value, spread, numbers = found
        values.append(value)
        spreads.append(spread)
        used.update(numbers)
    unit = step_of(question.itself)
    value = values[0] * unit
    if question.shape is not None:
        floats = np.array([float(each * unit) for each in values])
        value = read_only(floats.reshape(question.shape))
    alone = ZCDP(Fraction(1 / (2 * wanted.alone)))
    source = f"{len(used)} release{'s' * (len(used) != 1)}"
    fixed = wanted.fixed_in_advance
    return Estimated(value, source, ZCDP(paid), alone, Spreads.of(spreads), fixed, unit)
