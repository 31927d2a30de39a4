"""A filter whose account is each record's own (Feldman, Zrnic 2021).

Responsible for who takes part in a launch. What a record has lost is in `accounts`; what it adds to
an answer is the mechanism's to say. Nothing that is answered, refused or reported depends on who
takes part, except through the answers of mechanisms that have been paid for.
"""

from collections.abc import Sequence
from fractions import Fraction
from operator import getitem
from typing import Any

import attrs

from composition.compositors.children import Asked, report_about, require_depth, require_live
from composition.compositors.claims import claim_of, claim_over, correction, parsed
from composition.compositors.grows import grown_by
from composition.compositors.individual.accounts import RecordAccount
from composition.compositors.individual.books import (
    NO_BOOKS,
    Priced,
    paid_for,
    per_record,
    read_by,
    require_records,
)
from composition.compositors.launching import Due, Launching, Orders
from composition.compositors.logged import Claims
from composition.compositors.state import NO_CLAIMS, Charged
from queryable.answers.released import Released
from queryable.checks.fit import require_no_batches
from queryable.conversation import (
    LOST,
    Compositor,
    Data,
    Later,
    Live,
    Moved,
    Pass,
    Reported,
    Talk,
)
from queryable.errors import QueryError, UnknownQueryError
from queryable.faults import called
from queryable.losses import ZCDP, Loss
from queryable.losses.numbers import positive
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
    RemainingQuery,
    Stated,
    Update,
    d_in_of,
)
from queryable.receipts import Receipt
from queryable.streams.levels import DataLevel, Growth

_DEEPEST = 100
_OF = ", of the records that could pay for it"


def _rho(value: Any) -> Fraction:
    return positive(value, "rho")


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
    books: Later = attrs.field(default=NO_BOOKS, repr=False)
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
            tests/attacks/test_individual.py
    Args:
        rho: the budget of each record in zCDP.
    """

    rho: Fraction = attrs.field(converter=_rho)

    growth = Growth(from_any_history=True, passes_batches=False)
    neighbours = DataLevel()
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
            case RemainingQuery():
                raise UnknownQueryError(
                    f"plan with what a record has at first, {ZCDP(self.rho)}: what each has left "
                    "is private here, and a record that cannot pay is left out"
                )
            case Update():
                return query
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
        return self._grow(own, understood)

    def _priced(self, own: IndividualState, query: Any) -> Priced:
        """Check a launch, and find what it costs. Depends on public facts only.

        Raises:
            QueryError: it is wrong.
        """
        launch = parsed(query)
        require_records(own.data.facts)
        require_no_batches(launch.mechanism, "Individual")
        claim = claim_over(own.data.facts, launch, lambda each: claim_of(each, ZCDP, 1))
        assert isinstance(claim.loss, ZCDP)
        known = None if launch.d_out is not None else per_record(claim.mechanism)
        whole = claim.loss.rho / self.rho
        square = None if known is None else known.loss_per_square / self.rho
        return Priced(launch, claim, whole, square, known)

    def _checked(self, own: IndividualState, query: Any) -> Priced:
        priced = self._priced(own, query)
        if not priced.least <= 1:
            name, least = called(type(priced.claim.mechanism)), ZCDP(priced.least * self.rho)
            raise QueryError(
                f"give more noise: this {name} costs a record that it counts at least {least}, and "
                f"a record has {ZCDP(self.rho)}, so it would count nobody. Nothing is charged"
            )
        return priced

    def _charged(self, own: IndividualState, order: Priced) -> tuple[IndividualState, Due]:
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
            paid = Later(paid_for, was.books, was.data.rows, each.order, was.owed, was.arrived)
            each.books = Later(getitem, paid, 0)
            each.data = Data(own.data.facts.closed(), Later(read_by, paid, each.books))

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
        identity: Any = require_live(live, child, own.launched)
        return report_about(own.claims[identity], query, 1) or Asked(identity, query)

    def _ask(self, own: IndividualState, asked: Asked) -> Talk:
        moved = yield Pass(*asked)
        return Moved(own, Failed() if moved is LOST else _named(moved.answer))

    def _grow(self, own: IndividualState, batch: Update) -> Talk:
        data = yield from grown_by(batch, own.data)
        return Moved(attrs.evolve(own, data=data, arrived=True), None)


@attrs.define(eq=False)
class _Paying(Due):
    """A launch that is charged to the records that can pay, once it runs.

    Attributes:
        books: a `Later` of the `Books` after these have paid.
    """

    books: Later = attrs.field(default=NO_BOOKS, kw_only=True, repr=False)


def _named(answer: Answer) -> Answer:
    """The answer, with a title that says which records it is about."""
    if isinstance(answer, Launched):
        return attrs.evolve(answer, answer=_named(answer.answer))
    if type(answer) is tuple:  # to several launches
        return tuple(map(_named, answer))
    if isinstance(answer, Released):
        return attrs.evolve(answer, title=f"{answer.title}{_OF}")
    return answer
