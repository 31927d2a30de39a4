"""A filter whose account is each record's own (Feldman, Zrnic 2021).

Responsible for who takes part in a launch. What a record has lost is in `accounts`; what it adds to
an answer is the mechanism's to say. Nothing that is answered, refused or reported depends on who
takes part, except through the answers of mechanisms that have been paid for.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from operator import getitem
from typing import Any

import attrs
import numpy as np

from composition.compositors.accounts import Accounts, RecordAccount
from composition.compositors.children import Asked, reported, require_depth, require_live
from composition.compositors.claims import claim_of, claim_over, correction, parsed
from composition.compositors.launching import Due, Launching, Order, Orders
from composition.compositors.logged import Claims
from composition.compositors.state import NO_CLAIMS, Charged
from queryable.contributions import Contributions, Records, RecordsInMemory
from queryable.conversation import (
    LOST,
    Compositor,
    Data,
    Later,
    Live,
    Moved,
    Pass,
    Ready,
    Reported,
    Talk,
)
from queryable.data.cells import Array
from queryable.data.facts import Facts, base_of
from queryable.data.growing import grown, snapshot
from queryable.datasets import Described, require_no_batches
from queryable.errors import PrivacyClaimError, QueryError, UnknownQueryError
from queryable.faults import called, touching_data
from queryable.losses import ZCDP, Loss
from queryable.losses.numbers import positive
from queryable.mechanism import InteractiveMechanism
from queryable.messages import (
    Answer,
    Ask,
    CanAfford,
    CloseBlock,
    Failed,
    Launch,
    Launched,
    MeasureQuery,
    PrivacyLossQuery,
    Query,
    Stated,
    Update,
    d_in_of,
)
from queryable.receipts import Receipt
from queryable.released import Released
from queryable.streams import DataLevel

_DEEPEST = 100
_FRAMES = ("iloc", "to_pylist", "lazy")
"""What pandas, Arrow and polars frames have, in this order."""
_OF = ", of the records that could pay for it"


def _rho(value: Any) -> Fraction:
    return positive(value, "rho")


@attrs.frozen
class Books:
    """What nobody sees: who has paid what.

    Attributes:
        records: of the data as they were at the last launch that ran; None before.
        accounts: of each of these records.
    """

    records: Records | None = attrs.field(default=None, repr=False)
    accounts: Accounts = attrs.field(factory=partial(Accounts.of, 0), repr=False)


_NO_BOOKS = Later.of(Books())


@attrs.frozen
class IndividualState(Charged):
    """The own state of an `Individual`.

    Attributes:
        data: the data.
        books: a `Later` of the `Books` after the last launch that ran.
        claims: those of the launches, by child id.
        owed: the share of the budget that every record has yet to pay, as far as it has so much
            left, for launches that failed. Records that arrive before the next launch pay it too.
        arrived: whether the data have records that are not in the books.
    """

    data: Data = attrs.field(repr=False)
    books: Later = attrs.field(default=_NO_BOOKS, repr=False)
    claims: Claims = NO_CLAIMS
    owed: Fraction = Fraction(0)
    arrived: bool = True


@attrs.frozen
class Individual(Launching, Compositor):
    """A filter in which each record has an account of its own. Its answers are of active records.

    Every launch runs, on the records that can still pay for it. A `Gaussian` of a count, a sum or a
    histogram costs a record the square of the norm of what the record adds, divided by twice the
    variance: nothing if it is not counted. Any other mechanism costs every record its whole loss. A
    record that cannot pay is left out of the launch, and pays nothing. So an answer, its intervals
    included, is about the records that could pay, and nothing tells who or how many these are. A
    record is a row, or a privacy unit of a `Table`, with all its rows.

    Answers: Launch, Ask, PrivacyLossQuery, CanAfford, MeasureQuery. It never answers `Refused`. A
    launch that no record could ever pay for is a `QueryError`. The privacy loss is the budget, from
    the first launch on; what remains differs between records, and is private.

    If the data grow, a record that arrives has lost nothing yet, and a privacy unit has one account
    for all of its rows. What was launched before keeps its records: no batch reaches it.

    Privacy:
        Claim: ZCDP(rho) for each record that is added or removed, for every adversary.
        Theorem: Feldman, Zrnic 2021, for answers in turn; docs/theory.md, individual filters, for
            children that are interleaved and for data that grow.
        Assumes: the launched privacy maps, and what mechanisms say that a record adds. It has to
            depend on that record alone, as it does in `Count`, `Sum`, `Histogram`, `CountUnits`,
            `UnitSizes` and `GroupBy` of these without own functions. All others cost every record
            the whole loss.
        Checked by: tests/audit/test_individual.py, tests/audit/test_streams.py,
            tests/attacks/test_individual_neighbours.py
    Args:
        rho: the budget of each record in zCDP.
    """

    rho: Fraction = attrs.field(converter=_rho)

    continual = True
    from_any_history = True
    neighbours = DataLevel()
    passes_batches = False
    reports_loss = True
    same_records = False

    def loss(self, d_in: int) -> Loss:
        """The budget of one record; at more of them by group privacy."""
        return ZCDP(self.rho).group(d_in)

    def account(self, *, launched: bool = False) -> RecordAccount:
        """What is reported: nothing before the first launch, then the budget of each record."""
        return RecordAccount(ZCDP(self.rho), launched)

    def open(self, data: Data) -> Moved:
        """Start without accounts; the first launch opens them."""
        return Moved(IndividualState(data), None)

    def understood(self, own: IndividualState, query: Query, live: Live) -> Any:  # type: ignore[override]
        """What launches, questions about the budget, and the owner's batches say."""
        match query:
            case Ask(child, inner):
                require_depth(query, _DEEPEST)
                return self._asked(own, child, inner, live)
            case Launch():
                return self._ordered(own, query)
            case PrivacyLossQuery(d_in):
                spent = self.privacy_map(d_in_of(d_in, 1))
                return Reported(spent if own.claims else spent.zero())
            case CanAfford(launch):
                return Reported(self._priced(own, launch).least <= 1)
            case MeasureQuery():
                return Reported(Stated(ZCDP, 1))
            case Update(records, block):
                rows = Later(grown, own.data.rows, records, block)
                data = Data(own.data.facts.with_block(block), rows)
                return attrs.evolve(own, data=data, arrived=True)
            case CloseBlock():
                return Reported(None)
        raise UnknownQueryError(
            f"{correction(query)}, and Individual answers Launch, Ask, PrivacyLossQuery, "
            "CanAfford and MeasureQuery"
        )

    def converse(self, own: IndividualState, understood: Any, live: Live) -> Talk | Moved:
        """Launch, ask a child, or take a batch."""
        match understood:
            case Orders():
                return self._launch(own, understood)
            case Asked():
                return self._ask(own, understood)
        return self._fed(understood)

    def _priced(self, own: IndividualState, query: Any) -> "_Priced":
        """Check a launch, and find what it costs. Depends on public facts only.

        Raises:
            QueryError: it is wrong.
        """
        launch = parsed(query)
        _require_records(own.data.facts)
        require_no_batches(launch.mechanism, "Individual")
        claim = claim_over(own.data.facts, launch, lambda each: claim_of(each, ZCDP, 1))
        assert isinstance(claim.loss, ZCDP)
        square = None if launch.d_out is not None else _per_square(claim.mechanism)
        whole = claim.loss.rho / self.rho
        return _Priced(launch, claim, whole, None if square is None else square / self.rho)

    def _checked(self, own: IndividualState, query: Any) -> "_Priced":
        priced = self._priced(own, query)
        if not priced.least <= 1:
            name, least = called(type(priced.claim.mechanism)), ZCDP(priced.least * self.rho)
            raise QueryError(
                f"give more noise: this {name} costs a record that it counts at least {least}, and "
                f"a record has {ZCDP(self.rho)}, so it would count nobody. Nothing is charged"
            )
        return priced

    def _charged(self, own: IndividualState, order: "_Priced") -> tuple[IndividualState, Due]:
        """Until the launch has run, every record owes what it costs at most."""
        identity, claim = len(own.claims), order.claim
        owed = min(own.owed + order.whole, Fraction(1))
        claims = own.claims.set(identity, own.shared(claim))
        owing = IndividualState(own.data, own.books, claims, owed, own.arrived)
        account = self.account(launched=True)
        receipt = Receipt(claim.mechanism, order.launch.d_out, 1, claim.loss, account)
        return owing, _Paying(order, identity, claim.loss, Failed(receipt=receipt), own)

    def _give_data(self, own: IndividualState, due: "Sequence[_Paying]") -> None:
        """The records that can pay. They are found, and charged, when the mechanism needs them."""
        for each in due:
            was = each.before
            paid = Later(_paid, was.books, was.data.rows, each.order, was.owed, was.arrived)
            each.books = Later(getitem, paid, 0)
            each.data = Data(own.data.facts.closed(), Later(_read, paid, each.books))

    def _ran(
        self, own: IndividualState, due: "_Paying", moved: Moved | None
    ) -> tuple[IndividualState, Answer]:
        own, answer = super()._ran(own, due, moved)
        if moved is not LOST:
            own = IndividualState(own.data, due.books, own.claims, arrived=False)
        return own, _named(answer)

    def _asked(
        self, own: IndividualState, child: Any, query: Query, live: Live
    ) -> Asked | Reported:
        identity = require_live(live, child, own.launched)
        assert isinstance(identity, int)
        mechanism = live[identity]
        if isinstance(query, PrivacyLossQuery) and not mechanism.reports_loss:
            return reported(mechanism, own.claims[identity].loss, query, 1)
        return Asked(identity, query)

    def _ask(self, own: IndividualState, asked: Asked) -> Talk:
        moved = yield Pass(*asked)
        return Moved(own, Failed() if moved is LOST else _named(moved.answer))

    def _fed(self, own: IndividualState) -> Talk:
        """Make the records now, so that a batch that does not fit is refused."""
        yield Ready("data", own.data.rows)
        return Moved(own, None)


@attrs.define(eq=False)
class _Priced(Order):
    """A launch that was checked, and what it costs in shares of the budget.

    Attributes:
        whole: what it costs a record that pays the whole loss.
        square: what it costs a record for each unit of its square; None if all pay the whole loss.
    """

    whole: Fraction
    square: Fraction | None

    @property
    def least(self) -> Fraction:
        """The least that it costs a record that adds anything."""
        return self.whole if self.square is None else self.square


@attrs.define(eq=False)
class _Paying(Due):
    """A launch that is charged to the records that can pay, once it runs.

    Attributes:
        books: a `Later` of the `Books` after these have paid.
    """

    books: Later = attrs.field(default=_NO_BOOKS, kw_only=True, repr=False)


def _read(paid: tuple[Books, Any], _: Books) -> Any:
    """What the mechanism reads; the books are made with it, so that nothing else is kept."""
    return paid[1]


def _paid(
    books: Books, dataset: Any, priced: _Priced, owed: Fraction, arrived: bool
) -> tuple[Books, Any]:
    """The books after the charge, and what the mechanism reads.

    Raises:
        MechanismFault: the data cannot be read.
    """
    records = books.records
    if records is None or arrived:
        records = touching_data(lambda: _records_of(dataset, books.records))
    accounts = books.accounts.among(records.count).without(owed)
    if priced.square is None:
        active, accounts = accounts.charged(min(priced.whole, Fraction(1)))
        data = touching_data(lambda: records.among(active))
    else:
        added, squares = touching_data(lambda: _added_by(priced.claim.mechanism, records))
        active, accounts = accounts.charged(priced.square, squares)
        data = touching_data(lambda: added.among(active))
    return Books(records, accounts), data


def _per_square(mechanism: InteractiveMechanism[Any]) -> Fraction | None:
    """What a mechanism says that a record loses for each unit of its square.

    Raises:
        PrivacyClaimError: it is not an exact number from 0 on.
    """
    try:
        stated = mechanism.loss_per_square
        valid = stated is None or (type(stated) in (int, Fraction) and stated >= 0)
    except Exception:
        valid = False
    if not valid:
        raise PrivacyClaimError(
            f"{called(type(mechanism))} states a loss_per_square that is not a Fraction or None"
        )
    return None if stated is None else Fraction(stated)


def _added_by(
    mechanism: InteractiveMechanism[Any], records: Records
) -> tuple[Contributions, Array]:
    """What each record adds to a mechanism's answer, and the squares, checked. Reads data.

    Raises:
        TypeError, ValueError: they are not an integer from 0 on for each record.
    """
    added = mechanism.contributions(records.readable)
    squares = np.asarray(added.squares)
    integers = squares.dtype.kind in "biu" or (
        squares.dtype == object and all(isinstance(each, int) for each in squares.tolist())
    )
    if not integers or squares.shape != (records.count,):
        raise TypeError("squares should be an integer for each record")
    if squares.dtype != bool and (squares < 0).any():
        raise ValueError("squares should be 0 or more")
    return added, squares


def _records_of(dataset: Any, earlier: Records | None) -> Records:
    """The records of the data as of now; those that were there earlier keep their numbers."""
    dataset = snapshot(dataset)
    if not isinstance(dataset, Described):
        return RecordsInMemory.of(dataset)
    return dataset.records() if earlier is None else dataset.records(earlier)


def _require_records(facts: Facts) -> None:
    """Check that records can be told apart.

    Raises:
        QueryError: the data are not rows in memory.
    """
    dataset = base_of(facts)
    if isinstance(dataset, Described):
        if not dataset.gives_rows:
            raise QueryError(
                "open the rows as a file or a frame: Individual keeps an account of each record, "
                "and these are in a database or joined. Nothing is charged"
            )
        return
    rows = isinstance(dataset, list | tuple | np.ndarray | dict)
    if not rows and not any(hasattr(dataset, each) for each in _FRAMES):
        raise QueryError(
            "give a list, an array, a dict of columns, a frame or a Table: Individual keeps an "
            f"account of each record, and the data are {called(type(dataset))}. Nothing is charged"
        )


def _named(answer: Answer) -> Answer:
    """The answer, with a title that says which records it is about."""
    if isinstance(answer, Launched):
        return attrs.evolve(answer, answer=_named(answer.answer))
    if type(answer) is tuple:  # to several launches
        return tuple(map(_named, answer))
    if isinstance(answer, Released):
        return attrs.evolve(answer, title=f"{answer.title}{_OF}")
    return answer
