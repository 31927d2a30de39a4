"""The analyst's handle: delivery of answers, faults without a trace, and what it refuses."""

import copy
import logging
import os
import pickle
import threading
from typing import Any

import numpy as np
import pytest

from composition import ConComp, FiltCon
from mechanisms import BrownianNoiseReduction, Count, Gaussian
from queryable import (
    ZCDP,
    Ask,
    Bit,
    CanAfford,
    InteractiveMechanism,
    Launch,
    Measurement,
    MechanismFault,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    SeededCoins,
    UnknownQueryError,
)
from queryable.errors import HandleError, ReentrantQueryError, RetiredChildError
from tests.strategies import SECRET, TENTH, Courier, Faulty, RandomBits, RandomWord, Toy, raising

ONE = FiltCon(PureDP(1))


def test_children_are_found_by_id() -> None:
    q = Queryable(ONE, None)
    first, _, third = q(Toy()), q(RandomWord()), q(Toy())
    assert dict(q.children) == {0: first, 2: third}
    with pytest.raises(TypeError):
        q.children[5] = first  # type: ignore[index]
    root = Queryable(ConComp([Toy(), RandomWord()]), None)
    assert root.opening[0].ask("bits") == 0
    assert isinstance(root.opening[1], int)
    launched = Queryable(ONE, None).launch(ConComp([Toy(), Toy()]))
    assert [child.ask("bits") for child in launched.opening] == [0, 0]
    assert set(launched.children) == {0, 1}


def test_grandchildren_are_reached_through_their_parents() -> None:
    q = Queryable(ONE, None)
    inner = q(FiltCon(PureDP("0.5")))
    by_path = q.ask(Ask(0, Launch(Toy())))
    assert inner.children == {0: by_path}
    assert by_path.ask("bits") == 0
    assert q.ask(Ask(0, Ask(0, "bits"))) == 1
    q = Queryable(Courier() @ (Courier() @ ONE), None)
    child = q(Toy())
    assert child.ask("bits") == 0
    assert q.children[0] is child


def test_the_view_is_one_log_filtered_by_path() -> None:
    """The root sees every exchange in order, a child those at or below it."""
    q = Queryable(ONE, None)
    child, other = q(FiltCon(PureDP("0.5"))), q(Toy())
    leaf = child(Toy())
    other.ask("bits")
    leaf.ask("bits")
    assert [each.path for each in q.view] == [(), (), (0,), (1,), (0, 0)]
    assert [each.path for each in child.view] == [(0,), (0, 0)]
    assert [each.query for each in leaf.view] == ["bits"]
    assert leaf.view.opening is None
    # The repr names the root and the path, and nothing of the data.
    q = Queryable(ONE, SECRET)
    assert repr(q) == "<Queryable FiltCon>"
    assert repr(q(FiltCon(PureDP("0.5")))(Toy())) == "<Queryable FiltCon/0/0>"


def test_seeds_and_iterators_are_refused() -> None:
    """The seed determines the noise, so seeds are for tests."""
    with pytest.raises(ValueError, match="allow_seeded=True"):
        Queryable(ONE, None, coins=SeededCoins(1))
    Queryable(ONE, None, coins=SeededCoins(1), allow_seeded=True)
    # The second mechanism would find it empty.
    with pytest.raises(TypeError, match="iterator"):
        Queryable(ONE, iter([1, 2]))


class Arrays(InteractiveMechanism[Any]):
    """Opens with an array and answers arrays."""

    def loss(self, d_in: int) -> PureDP:
        return TENTH.group(d_in)

    def init(self, dataset: Any, coins: Any = None) -> Any:
        return dataset, np.zeros(2)

    def step(self, state: Any, query: Any, coins: Any = None) -> Any:
        if query == "data":
            state[0] = 99
        return state, np.zeros(2)


def test_answers_are_read_only() -> None:
    """The log and the analyst share an answer, so nobody may write to it."""
    root = Queryable(ONE, np.zeros(2))
    child = root(Arrays())
    (opened,) = Queryable(ConComp([Arrays()]), np.zeros(2)).opening
    for answer in (child.opening, child.ask("zeros"), opened.opening):
        with pytest.raises(ValueError, match="read-only"):
            answer[0] = 1


@pytest.mark.parametrize("wrap", [lambda array: array, lambda array: {"column": array}])
def test_the_data_are_read_only_and_shared(wrap: Any) -> None:
    """Mechanisms see arrays through a view that cannot be written to, and no copy is made."""
    array = np.zeros(2)
    seen: list[Any] = []

    class Looks(Measurement):
        def loss(self, d_in: int) -> PureDP:
            return TENTH

        def release(self, dataset: Any, coins: Any) -> None:
            seen.append(dataset["column"] if isinstance(dataset, dict) else dataset)

    q = Queryable(ONE, wrap(array))
    q(Looks())
    q(FiltCon(PureDP("0.5"))).launch(Looks())
    assert all(np.shares_memory(each, array) and not each.flags.writeable for each in seen)
    assert seen[0] is seen[1] or isinstance(wrap(array), dict)
    array[0] = 1  # the caller's own array stays theirs


@pytest.mark.parametrize(
    "take",
    [
        copy.copy,
        copy.deepcopy,
        pickle.dumps,
        lambda q: q.__reduce_ex__(2),
        lambda q: q.__getstate__(),
    ],
)
def test_handles_refuse_to_be_duplicated(take: Any) -> None:
    """A copy would have a budget of its own."""
    q = Queryable(ONE, None)
    for handle in (q, q(Toy())):
        with pytest.raises(HandleError, match="copied"):
            take(handle)
        with pytest.raises(HandleError):
            copy.deepcopy([handle])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_handles_refuse_to_work_after_fork() -> None:
    """Two processes with one budget would spend it twice."""
    q = Queryable(ONE, None)
    child = q(Toy())
    process = os.fork()
    if process == 0:
        refused = 0
        for use in (lambda: q(RandomWord()), lambda: child.ask("bits"), q.privacy_loss):
            try:
                use()
            except HandleError:
                refused += 1
        os._exit(refused)
    _, status = os.waitpid(process, 0)
    assert os.waitstatus_to_exitcode(status) == 3
    assert q.privacy_loss() == TENTH


def told(on_fault: list[BaseException]) -> Any:
    """A curator that writes faults down."""
    return on_fault.append


def locals_of(error: BaseException) -> list[str]:
    """What the frames of a traceback hold, shown, except the test's own and handles."""
    shown = []
    trace = error.__traceback__
    while trace is not None:
        if not trace.tb_frame.f_code.co_name.startswith("test_"):
            values = trace.tb_frame.f_locals.values()
            shown += [repr(value) for value in values if not isinstance(value, Queryable)]
        trace = trace.tb_next
    return shown


FAULTS = [
    ValueError(SECRET),
    QueryError(SECRET),
    KeyboardInterrupt(SECRET),
    SystemExit(SECRET),
    AssertionError(SECRET),
    RecursionError(SECRET),
]
WAYS = [
    pytest.param(fault, at_launch, guarded, id=f"{type(fault).__name__}-{at_launch}-{guarded}")
    for fault in FAULTS
    for at_launch in (True, False)
    for guarded in (True, False)
    # A step's own, unguarded `QueryError` is about the query, by definition.
    if at_launch or guarded or not isinstance(fault, QueryError)
]


@pytest.mark.parametrize(("fault", "at_launch", "guarded"), WAYS)
def test_a_fault_is_charged_contained_and_silent(
    fault: BaseException, at_launch: bool, guarded: bool
) -> None:
    """At launch or later: the charge stays, the child is gone, siblings live, nothing leaks."""
    faults: list[BaseException] = []
    q = Queryable(ONE, "data", on_fault=told(faults))
    sibling = q(Toy())
    mechanism = Faulty(raising(fault), at_launch=at_launch, good=1, guarded=guarded)
    child = None
    expected = type(fault) if not isinstance(fault, Exception) else MechanismFault
    if not at_launch:
        child = q(mechanism)
        assert child.ask("bits") == 0
    with pytest.raises(expected) as info:
        q(mechanism) if child is None else child.ask("bits")
    caught = info.value
    assert caught is not fault
    assert caught.args == () or expected is MechanismFault
    assert SECRET not in str(caught)
    assert caught.__cause__ is None
    assert caught.__context__ is None
    assert not any(SECRET in text for text in locals_of(caught))
    assert faults == [fault]
    assert q.privacy_loss() == PureDP("0.2")
    assert sibling.ask("bits") == 0
    assert q(Toy()).ask("bits") == 0
    assert set(q.children) >= {0, 2}
    if child is not None:
        for _ in range(3):
            with pytest.raises(RetiredChildError) as again:
                child.ask("bits")
            assert SECRET not in str(again.value)
            assert again.value.__context__ is None
            assert not any(SECRET in text for text in locals_of(again.value))
    assert len(faults) == 1
    assert SECRET not in repr(q.view)


class Careless(Toy):
    """Refuses a query with its state in a local, and another error as the context."""

    def step(self, state: Any, query: Any, coins: Any = None) -> Any:
        private = SECRET
        try:
            raise ValueError(private)
        except ValueError:
            raise UnknownQueryError("not that") from ValueError(private)


def test_a_query_error_shows_no_frame_of_a_mechanism() -> None:
    """A traceback has the locals of its frames: the handle raises a wrong query as its own."""
    child = Queryable(ONE, None).launch(Careless())
    with pytest.raises(UnknownQueryError, match="not that") as caught:
        child.ask("anything")
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert not any(SECRET in text for text in locals_of(caught.value))


@pytest.mark.parametrize("at_launch", [True, False])
def test_a_failing_root_repeats_a_constant(at_launch: bool) -> None:
    """A root that failed gives one answer to every query and is not run again."""
    faults: list[BaseException] = []
    mechanism = Faulty(raising(ValueError(SECRET)), at_launch=at_launch)
    if at_launch:
        with pytest.raises(MechanismFault):
            Queryable(mechanism, None, on_fault=told(faults))
    else:
        q = Queryable(mechanism, None, on_fault=told(faults))
        texts = set()
        for query in ("bits", "bits", "nonsense", None):
            with pytest.raises(MechanismFault) as caught:
                q.ask(query)
            texts.add(str(caught.value))
        assert len(texts) == 1
    assert len(faults) == 1


def test_an_interrupted_start_is_bare() -> None:
    mechanism = Faulty(raising(KeyboardInterrupt(SECRET)), at_launch=True)
    with pytest.raises(KeyboardInterrupt) as caught:
        Queryable(mechanism, None)
    assert caught.value.args == ()
    assert caught.value.__context__ is None
    assert not any(SECRET in text for text in locals_of(caught.value))


@pytest.mark.parametrize("at_launch", [True, False])
def test_a_reentrant_statistic_is_a_fault(at_launch: bool) -> None:
    """A statistic that calls its own queryable is charged, retired, and does not deadlock."""
    faults: list[BaseException] = []
    q = Queryable(ONE, None, on_fault=told(faults))
    sibling = q(Toy())

    def reenter(dataset: Any) -> Any:
        return q(RandomWord())

    with pytest.raises(MechanismFault):
        q(Faulty(reenter, at_launch=at_launch)).ask("bits")
    assert [type(fault) for fault in faults] == [ReentrantQueryError]
    assert q.privacy_loss() == PureDP("0.2")
    assert sibling.ask("bits") == 0
    assert q.can_afford(RandomWord())


@pytest.mark.parametrize(
    "use",
    [
        lambda q: q.privacy_loss(),
        lambda q: q.can_afford(Toy()),
        lambda q: q.children[0].ask("bits"),
        lambda q: q.ask("nonsense"),
    ],
)
def test_every_use_from_inside_is_reentrant(use: Any) -> None:
    """Reports, dry runs, siblings and wrong queries are all refused inside a query."""
    faults: list[BaseException] = []
    q = Queryable(ONE, None, on_fault=told(faults))
    q(Toy())
    with pytest.raises(MechanismFault):
        q(Faulty(lambda dataset: use(q), at_launch=True))
    assert [type(fault) for fault in faults] == [ReentrantQueryError]


def test_another_queryable_may_be_used_inside() -> None:
    """Re-entrance is about one tree; a statistic may run another."""
    other = Queryable(ONE, None)
    child = Queryable(ONE, None).launch(Faulty(lambda dataset: other(RandomWord())))
    assert child.ask("bits") == 0
    assert other.privacy_loss() == TENTH


def test_a_curators_own_error_is_dropped() -> None:
    """An exception of `on_fault` may depend on the data, so the analyst does not see it."""

    def clumsy(fault: BaseException) -> None:
        raise ValueError(SECRET) from fault

    q = Queryable(ONE, None, on_fault=clumsy)
    with pytest.raises(MechanismFault) as caught:
        q(Faulty(raising(ValueError(SECRET)), at_launch=True))
    assert caught.value.__context__ is None
    assert SECRET not in str(caught.value)


def test_the_curator_may_ask() -> None:
    """`on_fault` is called after the commit, outside the lock."""
    losses = []
    q = Queryable(ONE, None, on_fault=lambda fault: losses.append(q.privacy_loss()))
    with pytest.raises(MechanismFault):
        q(Faulty(raising(ValueError()), at_launch=True))
    assert losses == [TENTH]


def test_nothing_is_printed(capfd: Any) -> None:
    """Without a curator a fault writes nothing where the analyst reads; the logger is silent."""
    q = Queryable(ONE, None)
    with pytest.raises(MechanismFault):
        q(Faulty(raising(ValueError(SECRET)), at_launch=True))
    logger = logging.getLogger("queryable")
    assert any(isinstance(handler, logging.NullHandler) for handler in logger.handlers)
    assert capfd.readouterr() == ("", "")


def test_a_broken_mechanism_retires_only_itself() -> None:

    class NoPair(Toy):
        def step(self, state: Any, query: Any, coins: Any = None) -> Any:
            return 5

    q = Queryable(ONE, None)
    sibling, broken = q(Toy()), q(NoPair())
    with pytest.raises(MechanismFault):
        broken.ask("bits")
    assert sibling.ask("bits") == 0


def test_a_refusal_carries_the_amounts_of_the_innermost_filter() -> None:
    q = Queryable(ONE, None)
    inner = q(FiltCon(PureDP("0.25")))
    inner(RandomWord())
    with pytest.raises(QueryRefusedError) as caught:
        inner(RandomWord(PureDP("0.2")))
    assert caught.value.requested == PureDP("0.2")
    assert caught.value.spent == PureDP("0.1")
    assert caught.value.remaining == PureDP("0.15")
    assert caught.value.__context__ is None


def test_the_loss_of_a_leaf() -> None:
    """A mechanism that does not report its loss has its claim, as root and as child."""
    root = Queryable(Toy(), None)
    assert root.privacy_loss() == TENTH
    assert root.privacy_loss(2) == PureDP("0.2")
    child = Queryable(ONE, None).launch(Toy(), PureDP("0.3"))
    assert child.privacy_loss() == PureDP("0.3")
    assert child.privacy_loss(2) == PureDP("0.2")


@pytest.mark.parametrize("d_in", [True, -1, "2", 1.5])
def test_a_wrong_d_in_is_a_query_error(d_in: Any) -> None:
    """Whatever is asked about a loss, nonsense is a `QueryError`."""
    parent = Queryable(ONE, None)
    for q in (Queryable(Toy(), None), parent, parent(Toy()), Queryable(ConComp([Toy()]), None)):
        with pytest.raises(QueryError, match="d_in"):
            q.privacy_loss(d_in)


def test_sixteen_threads_never_overspend() -> None:
    """A filter that 16 threads use admits exactly what fits, and the log is complete."""
    q = Queryable(FiltCon(PureDP(1)), None)
    child = q(RandomBits(PureDP(0)))
    admitted, refused, errors = [], [], []
    start = threading.Barrier(16)

    def hammer() -> None:
        start.wait()
        for _ in range(25):
            try:
                admitted.append(q(RandomWord(PureDP("0.01"))))
                child.ask("bits")
            except QueryRefusedError as refusal:
                refused.append(refusal)
            except BaseException as error:
                errors.append(error)

    threads = [threading.Thread(target=hammer) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert (len(admitted), len(refused)) == (100, 300)
    assert q.privacy_loss() == PureDP(1)
    assert len(q.view) == 1 + 100 + 100 + 300 + 1
    assert len({each.answer for each in child.view}) == 100


def test_a_dry_run_changes_nothing() -> None:
    """`can_afford` predicts the outcome of a launch; it runs and charges nothing."""
    q = Queryable(FiltCon(PureDP("0.15")), None)
    ran: list[Any] = []
    probe = Faulty(ran.append, at_launch=True)
    assert q.can_afford(probe) is True
    assert q.can_afford(probe, PureDP("0.2")) is False
    assert q.ask(CanAfford(Launch(probe))) is True
    q(RandomWord())
    assert q.can_afford(probe) is False
    assert ran == []
    assert q.privacy_loss() == TENTH


@pytest.mark.parametrize(
    ("given", "first"),
    [
        (BrownianNoiseReduction(), r"write BrownianNoiseReduction\(\.\.\) @ FiltCon\(budget\)"),
        (BrownianNoiseReduction, r"write BrownianNoiseReduction\(\.\.\) @ FiltCon\(budget\)"),
        (FiltCon, r"write FiltCon\(\.\.\), with its arguments"),
        (ZCDP(1), r"write FiltCon\(ZCDP\(rho='1'\)\): a budget alone answers nothing"),
        (3, r"give a mechanism, such as FiltCon\(budget\): it is int"),
    ],
)
def test_what_is_no_mechanism_is_corrected(given: Any, first: str) -> None:
    with pytest.raises(TypeError, match=f"^{first}"):
        Queryable(given, [1, 2])


@pytest.mark.parametrize(
    ("given", "first"),
    [
        (BrownianNoiseReduction(), r"write BrownianNoiseReduction\(\.\.\) @ FiltCon\(budget\)"),
        (Count(), r"add noise to the statistic, as in release\(Count\(\.\.\), loss=\.\.\)"),
        (Bit(bool), r"write RandomizedResponse\(Bit\(\.\.\), epsilon=\.\.\)"),
        (Gaussian, r"write Gaussian\(\.\.\), with its arguments"),
        ("how many", r"launch a mechanism, such as Gaussian\(Count\(\), scale=\.\.\)"),
    ],
)
def test_what_cannot_be_launched_is_corrected(given: Any, first: str) -> None:
    table = Queryable(FiltCon(ZCDP(1)), [1, 2])
    for ask in (table, table.launch, table.can_afford):
        with pytest.raises(QueryError, match=f"^{first}"):
            ask(given)
    assert table.privacy_loss() == ZCDP(0)
