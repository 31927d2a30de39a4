"""`Frugal`: a person in the middle that buys only what earlier answers do not already say."""

from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from immutables import Map

from mechanisms.frugal.asking import Question, itself, question_of
from mechanisms.frugal.books import Book, Purchase
from mechanisms.frugal.messages import Estimated, EstimateQuery
from mechanisms.frugal.spread import Spread
from mechanisms.frugal.together import GaussiansTogether
from mechanisms.tables.aggregates import Aggregate
from mechanisms.tables.group_by import GroupBy
from mechanisms.tables.keys import groups_of
from mechanisms.tables.request import Groups
from mechanisms.tables.statistics import Count
from queryable.errors import QueryError
from queryable.half_widths import confidence_of
from queryable.losses import ZCDP
from queryable.losses.numbers import positive, shown
from queryable.messages import Launch, Launched
from queryable.postprocessing import (
    FromAnalyst,
    FromMechanism,
    PersonInTheMiddle,
    ToAnalyst,
    ToMechanism,
)
from queryable.quoting import quoted
from queryable.randomness.coins import Coins
from queryable.statistics import IntegerStatistic

_LEAST = Fraction(1, 2)
_TRIES = 12


@attrs.frozen
class Wanted:
    """A query that was read: what is asked, how accurately, and for which questions it holds."""

    question: Question
    within: Fraction
    missed: Fraction
    anytime: bool

    @property
    def alone(self) -> float:
        """The variance of a launch of its own that is as accurate, if a unit changes it by 1."""
        deviations = float(_deviations(self.missed))
        return float(self.within) ** 2 / deviations**2 / float(self.question.base.l1) ** 2


@attrs.frozen(eq=False)
class Pending:
    """What is being bought, and what it is for.

    Attributes:
        book: as it is before the purchases.
        before: the number of ledgers when the question was asked.
        renting: if the question is bought on its own, the book that notes what was paid for it.
    """

    wanted: Wanted
    asked: Question
    book: Book
    purchases: tuple[Purchase, ...]
    before: int
    renting: Book | None = None

    @property
    def launch(self) -> GaussiansTogether:
        """All purchases as one launch."""
        return GaussiansTogether([self.book.measurement(each) for each in self.purchases])


@attrs.frozen(eq=False)
class FrugalState:
    """The books, how many ledgers there are, and what is being bought. All of it is public."""

    books: "Map[Aggregate, Book]"
    ledgers: int = 0
    pending: Pending | None = None


Reply = tuple[FrugalState, ToMechanism | ToAnalyst]


def _plan(value: Any) -> tuple[Aggregate, ...]:
    if isinstance(value, IntegerStatistic) or not isinstance(value, tuple | list):
        raise TypeError(f"plan is {quoted(value)}; it should be a list of statistics")
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

    Answers: `EstimateQuery` with an `Estimated`. Every other query goes to the mechanism below. An
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
        Checked by: tests/unit/mechanisms/frugal/test_frugal.py

    Args:
        plan: statistics that will be asked. When one of the columns of a question is bought, enough
            is bought for all planned statistics about these columns, in the shape that fits them.
        axes: public groups into which columns are cut from the start, written as the keys of a
            `GroupBy`. Without them a column is cut by the questions about it.
        patience: how many times the price of a question on its own is paid at most for
            combinations that serve other questions too. What was paid for questions about the same
            columns on their own is counted with it.
    """

    plan: tuple[Aggregate, ...] = attrs.field(default=(), converter=_plan)
    axes: tuple[Groups, ...] = attrs.field(default=(), converter=_axes, kw_only=True)
    patience: Fraction = attrs.field(default=Fraction(8), converter=_patience, kw_only=True)

    continual = False  # it combines answers about one data set

    def init(self) -> FrugalState:
        """The books of the planned statistics, empty."""
        books: Map[Aggregate, Book] = Map()
        for statistic in self.plan:
            question = question_of(statistic)
            book = books.get(question.base) or self._book(question.base)
            cut = book.cut(question.boxes)
            if cut is not None:
                books = books.set(
                    question.base, attrs.evolve(cut, wishes=(*cut.wishes, *question.boxes))
                )
        return FrugalState(books)

    def _book(self, base: Aggregate) -> Book:
        book = Book(base)
        for each in self.axes:
            boxes = question_of(GroupBy((each,), Count())).boxes
            book = book.cut(boxes) or book
        return book

    def step(self, state: FrugalState, message: FromAnalyst | FromMechanism, coins: Coins) -> Reply:
        """Estimate from what there is, or buy what is missing first."""
        match message:
            case FromMechanism(answer):
                if state.pending is None:
                    return state, ToAnalyst(answer)
                return self._on_answer(state, state.pending, answer)
            case FromAnalyst(EstimateQuery() as query):
                return self._asked(state, wanted_of(query))
        return state, ToMechanism(message.query)

    def _asked(self, state: FrugalState, wanted: Wanted) -> Reply:
        question = wanted.question
        book = (state.books.get(question.base) or self._book(question.base)).cut(question.boxes)
        single = itself(question)
        own = state.books.get(single.base) or Book(single.base)
        for each, there in ((question, book), (single, own)):
            if there is not None and (each is question or question.shape is None):
                found = _answer(there, each, wanted, None, Fraction(0))
                if found is not None and _good(found, wanted):
                    return state, ToAnalyst(found)
        shared = None if book is None else _bought(book, question, wanted, state.ledgers)
        alone = None
        if question.shape is None:
            alone = _bought(own, single, wanted, state.ledgers)
        buying = self._chosen(book, shared, own, alone, wanted, state.ledgers)
        waiting = FrugalState(state.books, state.ledgers, buying)
        return waiting, ToMechanism(Launch(buying.launch))

    def _chosen(
        self,
        book: Book | None,
        shared: list[Purchase] | None,
        own: Book,
        alone: list[Purchase] | None,
        wanted: Wanted,
        before: int,
    ) -> Pending:
        question, renting = wanted.question, None
        if book is not None:
            component = book.component(question.boxes)
            rent = book.rent.get(component, Fraction(0))
            if shared is not None and (
                alone is None or _price(shared) <= self.patience * (_price(alone) + rent)
            ):
                return Pending(wanted, question, book, tuple(shared), before)
        if alone is None:
            raise QueryError(
                "ask for fewer entries, fewer columns at once or less accuracy: combinations of "
                "counts do not reach it"
            )
        if book is not None:
            rents = book.rent.set(component, rent + _price(alone))
            renting = attrs.evolve(book, rent=rents)
        return Pending(wanted, itself(question), own, tuple(alone), before, renting)

    def _on_answer(self, state: FrugalState, pending: Pending, answer: Any) -> Reply:
        if not isinstance(answer, Launched):  # refused or failed: nothing was bought
            return FrugalState(state.books, state.ledgers), ToAnalyst(answer)
        book, number = pending.book, state.ledgers
        for purchase, noisy in zip(pending.purchases, answer.answer, strict=True):
            number += purchase.place < 0
            book = book.after(purchase, number, np.asarray(noisy))
        books = state.books.set(pending.asked.base, book)
        if pending.renting is not None and pending.renting.base != book.base:
            books = books.set(pending.renting.base, pending.renting)
        paid = pending.launch.loss(1).rho
        found = _answer(book, pending.asked, pending.wanted, pending.before, paid)
        assert found is not None
        return FrugalState(books, number), ToAnalyst(found)


def wanted_of(query: EstimateQuery) -> Wanted:
    """Read a query.

    Raises:
        QueryError: it is wrong.
    """
    try:
        within, confidence = positive(query.within, "within"), confidence_of(query.confidence)
    except (TypeError, ValueError) as error:
        raise QueryError(str(error)) from None
    if not within >= _LEAST:
        raise QueryError(f"within is {shown(within)}; it should be at least 1/2")
    if not confidence <= 1 - Fraction(1, 10**12):
        raise QueryError("confidence should be at most 1 - 10**-12")
    if not isinstance(query.anytime, bool):
        raise QueryError(f"anytime is {quoted(query.anytime)}; it should be True or False")
    try:
        question = question_of(query.statistic)
    except (TypeError, ValueError) as error:
        raise QueryError(str(error)) from None
    return Wanted(question, within, 1 - confidence, query.anytime)


def _deviations(missed: Fraction) -> Fraction:
    spread = Spread(Fraction(1), Fraction(0), 0, Fraction(0), Fraction(1), ())
    return spread.half_width(missed, anytime=False)


def _price(purchases: list[Purchase]) -> Fraction:
    return sum((each.precision for each in purchases), Fraction(0))


def _good(found: Estimated, wanted: Wanted) -> bool:
    return all(
        each.half_width(wanted.missed, anytime=wanted.anytime) <= wanted.within
        for each in found.spreads
    )


def _bought(book: Book, question: Question, wanted: Wanted, before: int) -> list[Purchase] | None:
    """The launches after which the answer is accurate enough, for it and for what is planned."""
    named = {key for box in question.boxes for key in box}
    wishes = [box for box in book.wishes if named & set(box) or not named]
    boxes = [*question.boxes, *wishes]
    variance = wanted.alone * float(book.base.l1) ** 2
    for _ in range(_TRIES):
        purchases = book.purchases(boxes, variance)
        if purchases is None:
            return None
        later, number = book, before
        for each in purchases:
            number += each.place < 0
            later = later.after(each, number)
        widths = []
        for box in question.boxes:
            found = later.estimated(box, before)
            if found is None:
                return None
            widths.append(found[1].half_width(wanted.missed, anytime=wanted.anytime))
        if max(widths) <= wanted.within:
            return purchases
        variance *= float(wanted.within / max(widths)) ** 2 * 0.998
    return None


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
    value = values[0]
    if question.shape is not None:
        value = np.array([float(each) for each in values]).reshape(question.shape)
        value.flags.writeable = False
    alone = ZCDP(Fraction(1 / (2 * wanted.alone)))
    source = f"{len(used)} released ledger{'s' * (len(used) != 1)}"
    return Estimated(value, source, ZCDP(paid), alone, tuple(spreads), wanted.anytime)
