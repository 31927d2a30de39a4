"""A wrong message changes nothing, whatever it makes the library's own code raise.

What stands after a failure is decided by where it arose. Before any mechanism has run it is a
`QueryError`: the old state stands, nothing is charged, siblings and the root answer. While a
mechanism runs the charge stands, and that mechanism alone is lost.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from typing import Any, NoReturn

import attrs
import pytest

from composition import (
    ConComp,
    ExPost,
    FiltCon,
    OdomCon,
    Parallel,
    Partition,
    Universal,
    ViaGDP,
    ViaRenyi,
    ViaZCDP,
    Whitehouse2023,
)
from queryable import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    Ask,
    CanAfford,
    FromMechanism,
    Launch,
    MechanismFault,
    PersonInTheMiddle,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    interact,
)
from queryable.conversation import Pass
from queryable.errors import UnknownChildError
from tests.strategies import Courier, Faulty, Toy, raising

HUGE = 10**5000
"""Too long for `str`: formatting it raises a ValueError."""


class Unshowable:
    """An object whose repr, hash and comparison raise."""

    def __repr__(self) -> NoReturn:
        raise RuntimeError("no text")

    __str__ = __repr__

    def __hash__(self) -> NoReturn:
        raise RuntimeError("no hash")

    def __eq__(self, other: object) -> NoReturn:
        raise RuntimeError("not comparable")


class _Nameless(type):
    @property
    def __name__(cls) -> NoReturn:  # type: ignore[override]
        raise RuntimeError("no name")


class Nameless(metaclass=_Nameless):
    """An object whose class raises when its name is read."""


DELTA = "1/1000000"
ROOTS: dict[str, Callable[[], Any]] = {
    "pure": lambda: FiltCon(PureDP(10)),
    "approximate": lambda: FiltCon(ApproxDP(10, DELTA)),
    "zCDP": lambda: FiltCon(ZCDP(10)),
    "RDP": lambda: FiltCon(RDP(8, 10)),
    "GDP": lambda: FiltCon(GDP(10)),
    "Renyi": lambda: FiltCon(ApproxDP(10, DELTA), ViaRenyi((2, 8, 32))),
    "via zCDP": lambda: FiltCon(ApproxDP(10, DELTA), ViaZCDP()),
    "via GDP": lambda: FiltCon(ApproxDP(10, DELTA), ViaGDP()),
    "Whitehouse": lambda: FiltCon(ApproxDP(10, DELTA), Whitehouse2023()),
    "odometer": lambda: OdomCon(ZCDP),
    "ex post": lambda: ExPost(PureDP(10)),
    "person": lambda: Courier() @ FiltCon(PureDP(10)),
}
QUERIES: dict[str, Any] = {
    "ask a huge child": Ask(HUGE, PrivacyLossQuery()),
    "loss at a huge d_in": PrivacyLossQuery(HUGE),
    "huge nonsense": HUGE,
    "ask an unshowable child": Ask(Unshowable(), "bits"),
    "loss at an unshowable d_in": PrivacyLossQuery(Unshowable()),
    "launch of something unshowable": Launch(Unshowable()),
    "unshowable d_out": Launch(Toy(), Unshowable()),
    "can_afford of something unshowable": CanAfford(Unshowable()),
    "something unshowable": Unshowable(),
    "nameless": Nameless(),
    "the class of it": Launch(Nameless),
    "nameless d_out": Launch(Toy(), Nameless()),
    "nameless child": Ask(Nameless(), "bits"),
    "a huge filter": Launch(FiltCon(ZCDP(Fraction(HUGE)))),
    "a huge grandchild": Ask(1, Ask(HUGE, "bits")),
    "a launch below with no text": Ask(1, Launch(Toy(), Unshowable())),
}


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("query", QUERIES)
def test_a_wrong_message_changes_nothing(root: str, query: str) -> None:
    """A `QueryError` or a refusal; the loss is the same, and everything answers as before."""
    q = Queryable(ROOTS[root](), "data")
    toy, team = q.launch(Toy(PureDP(1))), q.launch(FiltCon(PureDP("0.5")))
    inner = team.launch(Toy())
    before = q.privacy_loss(), team.privacy_loss()
    with suppress(QueryError, QueryRefusedError):
        q.ask(QUERIES[query])
        assert query == "loss at a huge d_in"  # which can be computed, of some
    assert (q.privacy_loss(), team.privacy_loss()) == before
    assert toy.ask("bits") == 0
    assert inner.ask("bits") == 0
    q.launch(Toy())


ARITHMETIC = [
    (FiltCon(RDP(8, 1)), PureDP(Fraction(10**57))),
    (FiltCon(ApproxDP(3, DELTA), ViaRenyi((2, 8, 32))), PureDP(Fraction(10**57))),
    (FiltCon(GDP(1)), PureDP(Fraction(10**100))),
    (FiltCon(GDP(1)), PureDP(Fraction(HUGE))),
    (FiltCon(ApproxDP(1, DELTA), ViaGDP()), PureDP(Fraction(10**100))),
]


@pytest.mark.parametrize(("root", "loss"), ARITHMETIC)
def test_arithmetic_that_fails_is_a_query_error(root: Any, loss: Any) -> None:
    """Numbers that no conversion can be computed for: as a dry run, and as a launch."""
    q = Queryable(root, "data")
    team = q.launch(FiltCon(PureDP("1/100")))
    before = q.privacy_loss()
    for below in (q, team):
        with suppress(QueryError):
            assert not below.can_afford(Toy(), loss)
        with pytest.raises((QueryError, QueryRefusedError)):
            below.launch(Toy(), loss)
    assert q.privacy_loss() == before
    assert team.launch(Toy(PureDP("1/1000"))).ask("bits") == 0


@pytest.mark.parametrize("odometer", [OdomCon(GDP), OdomCon(PureDP), OdomCon(ZCDP)])
def test_an_odometer_takes_no_loss_that_it_could_not_report(odometer: Any) -> None:
    """A launch of what is larger is refused, so that `privacy_loss` never fails."""
    q = Queryable(odometer, "data")
    for loss in (PureDP, ZCDP, GDP):
        with pytest.raises(QueryError):
            q.launch(FiltCon(loss(Fraction(HUGE))))
    assert q.privacy_loss() == q.privacy_loss().zero()
    q.launch(Toy(), odometer.measure(Fraction(10**399)))
    q.launch(Toy())
    assert not q.privacy_loss() <= odometer.measure(1)
    assert q.ledger()
    assert q.tree()


class OwnCode(FiltCon):
    """Fails in its own arithmetic once it has charged as much as it likes."""

    def _exceeds(self, account: Any, candidate: Any, requested: Any) -> Any:
        if len(str(candidate.total().epsilon)) > 4:
            raise ZeroDivisionError("own code")
        return super()._exceeds(account, candidate, requested)


def test_a_filters_own_error_before_the_charge_leaves_it_alone() -> None:
    """At the root and below; the mechanism was not run, and only the curator sees the error."""
    ran: list[Any] = []
    faults: list[BaseException] = []
    for wrap in (lambda q: q, lambda q: q.launch(OwnCode(PureDP(5)))):
        q = Queryable(OwnCode(PureDP(10)), "data", on_fault=faults.append)
        at = wrap(q)
        toy = at.launch(Toy(PureDP(1)))
        with pytest.raises(QueryError, match=r"ZeroDivisionError.*nothing has changed") as caught:
            at.launch(Faulty(ran.append, at_launch=True, charged=PureDP("1/1000")))
        assert caught.value.__context__ is None
        assert at.privacy_loss() == PureDP(1)
        assert toy.ask("bits") == 0
    assert not ran
    assert [repr(each) for each in faults] == [repr(ZeroDivisionError("own code"))] * 2


class AfterTheRun(FiltCon):
    """Fails in its own code when a child has answered."""

    def understood(self, own: Any, query: Any, live: Any) -> Any:
        understood = super().understood(own, query, live)
        return [understood] if isinstance(understood, Pass) else understood

    def converse(self, own: Any, understood: Any, live: Any) -> Any:
        if isinstance(understood, list):
            return self._asks(*understood)
        return super().converse(own, understood, live)

    def _asks(self, asked: Any) -> Any:
        yield asked
        raise UnknownChildError("it says that nothing has happened")


def test_after_a_mechanism_has_run_the_charge_stands_whatever_is_raised() -> None:
    """Not the type of the exception decides: a `QueryError` that comes too late is a fault.

    The filter that raises it is lost, as it was told an answer; its siblings are not.
    """
    q = Queryable(FiltCon(PureDP(10)), "data")
    team = q.launch(AfterTheRun(PureDP(5)))
    toy, sibling = team.launch(Toy()), q.launch(Toy())
    with pytest.raises(MechanismFault):
        toy.ask("bits")
    with pytest.raises(QueryError, match="retired"):
        toy.ask("bits")
    assert sibling.ask("bits") == 0
    with pytest.raises(QueryError, match="retired"):
        team.launch(Toy())
    assert q.launch(Toy()) is not None
    assert q.privacy_loss() == PureDP("5.2")


def test_a_mechanism_that_fails_is_lost_at_every_kind_of_compositor() -> None:
    """A mechanism that raises after the charge is retired, and its error is hidden."""
    broken = Faulty(raising(ZeroDivisionError("secret")), guarded=False)
    parts = Partition("part", ("a", "b"))
    rows = [{"part": "a"}, {"part": "b"}]
    fixed = Queryable(ConComp([broken, Toy()]), "data")
    split = Queryable(Parallel(parts, {"a": broken, "b": Toy()}), rows)
    late = Queryable(Universal(PureDP(1)), "data")
    late.ask(Launch(broken))
    for q, asked, alive in ((fixed, Ask(0, "bits"), 1), (split, Ask("a", "bits"), "b")):
        with pytest.raises(MechanismFault):
            q.ask(asked)
        with pytest.raises(QueryError, match="retired"):
            q.ask(asked)
        assert q.ask(Ask(alive, "bits")) == 0
    for _ in range(2):
        with pytest.raises(MechanismFault):
            late.ask("bits")


@attrs.frozen
class Stumbling(PersonInTheMiddle[int]):
    """A person that raises at a certain message."""

    at: Any

    def init(self) -> int:
        return 0

    def step(self, state: int, message: Any, coins: Any) -> Any:
        if message == self.at:
            raise ZeroDivisionError("own code")
        return Courier().step(state, message, coins)


def test_a_person_that_raises_before_the_charge_changes_nothing() -> None:
    """Afterwards it is lost with what it was asking, and its siblings are not."""
    q = Queryable(FiltCon(PureDP(10)), "data")
    report = FromMechanism(PureDP(0))
    early = q.launch(Stumbling(report) @ FiltCon(PureDP(1)))
    with pytest.raises(QueryError, match="nothing has changed"):
        early.privacy_loss()
    assert early.launch(Toy()).ask("bits") == 0
    late = q.launch(Stumbling(FromMechanism(0)) @ FiltCon(PureDP(1)))
    toy = late.launch(Toy())
    with pytest.raises(MechanismFault):
        toy.ask("bits")
    with pytest.raises(QueryError, match="retired"):
        late.launch(Toy())
    assert early.privacy_loss is not None
    assert q.launch(Toy()).ask("bits") == 0


class Sly(int):
    """An id that selects one child when read and another when written."""

    looked = 0

    def __hash__(self) -> int:
        return hash(int.__index__(self) + self.looked)

    def __eq__(self, other: object) -> bool:
        Sly.looked = 1
        return True


def test_an_id_is_one_child_throughout() -> None:
    """A subclass of int might copy one child's state over another, and start it anew."""
    q = Queryable(FiltCon(PureDP(10)), "data")
    first, second = q.launch(Toy()), q.launch(Toy())
    first.ask("bits")
    with suppress(UnknownChildError):
        q.ask(Ask(Sly(0), "bits"))
    assert first.ask("bits") in (1, 2)
    assert second.ask("bits") == 0
    fixed = Queryable(ConComp([Toy(), Toy()]), "data")
    fixed.ask(Ask(Sly(0), "bits"))
    assert [fixed.ask(Ask(child, "bits")) for child in (0, 1)] == [1, 0]


def test_a_name_without_a_text_is_a_query_error() -> None:
    """Also where the query is parsed before it is sent."""
    q = Queryable(FiltCon(PureDP(10)), "data")
    for name in (Unshowable(), Nameless(), Nameless, HUGE):
        with pytest.raises(QueryError, match="name is"):
            q.launch(Toy(), name=name)  # type: ignore[arg-type]


def test_without_a_handle_the_same_holds() -> None:
    """`interact` decides as a `Queryable` does."""

    def adversary(view: Any) -> Any:
        return Ask(HUGE, PrivacyLossQuery()) if len(view) else Launch(Toy())

    with pytest.raises(QueryError):
        interact(FiltCon(PureDP(1)), "data", adversary)


def _deep(depth: int, call: Callable[[], Any]) -> Any:
    return call() if depth <= 0 else _deep(depth - 1, call)


@pytest.mark.parametrize("short", range(0, 260, 4))
def test_near_the_recursion_limit_a_launch_works_or_is_refused(short: int) -> None:
    """At every remaining stack depth the tree goes on, and a charged mechanism has run."""
    q = Queryable(FiltCon(PureDP(10)), "data")
    team, toy = q.launch(FiltCon(PureDP(5))), q.launch(Toy())
    frame, depth = sys._getframe(), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1  # type: ignore[assignment]
    for call in (lambda: team.launch(Toy()), lambda: toy.ask("bits")):
        before = team.privacy_loss()
        try:
            _deep(sys.getrecursionlimit() - depth - short, call)
        except (QueryError, RecursionError):
            assert team.privacy_loss() == before
    assert q.privacy_loss() == PureDP("5.1")
    assert toy.ask("bits") in (0, 1)
    assert team.launch(Toy()).ask("bits") == 0


def test_mechanisms_are_nested_to_a_bound() -> None:
    """Six hundred side by side work; what nests too deeply for the stack is a `ValueError`."""
    wide = Queryable(ConComp([Toy() for _ in range(600)]), "data")
    assert wide.ask(Ask(599, "bits")) == 0
    person: Any = FiltCon(PureDP(1))
    for _ in range(40):
        person = Courier() @ person
    with pytest.raises(ValueError, match="nested 41 deep"):
        Courier() @ person
    q = Queryable(FiltCon(PureDP(10)), "data")
    assert q.launch(person).launch(Toy()).ask("bits") == 0
    with pytest.raises(ValueError, match="nested 41 deep"):
        ConComp([person])


class Changing(Ask):
    """An `Ask` whose attributes raise once they have been read so many times."""

    def __init__(self, reads: int, child: Any, query: Any) -> None:
        object.__setattr__(self, "given", {"reads": reads, "child": child, "query": query})

    def __getattribute__(self, name: str) -> Any:
        given = object.__getattribute__(self, "given")
        if name not in ("child", "query"):
            return object.__getattribute__(self, name)
        given["reads"] -= 1
        if given["reads"] < 0:
            raise RuntimeError("read too often")
        return given[name]


@pytest.mark.parametrize("reads", range(10))
def test_an_ask_that_changes_is_read_once(reads: int) -> None:
    """It is a wrong query or is answered, and the tree answers afterwards."""
    root = Queryable(FiltCon(PureDP(1)), "data")
    team = root(FiltCon(PureDP("1/2")))
    launch = Changing(reads, 0, Launch(Toy()))
    if reads < 2:
        with pytest.raises(QueryError, match="cannot be read"):
            root.ask(launch)
        assert team.privacy_loss() == PureDP(0)
    else:
        assert root.ask(launch) is team.children[0]
        assert [row.path for row in team.ledger()] == [(0,)]
        assert team.privacy_loss() == PureDP("0.1")
    assert root.privacy_loss() == PureDP("1/2")


def test_an_endless_ask_is_a_query_error() -> None:
    """Its attributes are read a bounded number of times."""

    class Endless(Ask):
        @property
        def query(self) -> Any:
            return self

        @query.setter
        def query(self, value: Any) -> None:
            pass

    root = Queryable(Toy(), "data")
    with pytest.raises(QueryError, match="cannot be read"):
        root.ask(Endless(0, "bits"))
    assert root.ask("bits") == 0
