"""Laws of compositors, as checks; each raises an AssertionError if the law is broken.

`test_compositors.py` runs them on the real compositors, `tests/audit/test_mutations.py` on broken
ones.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import attrs

from composition import Filt, FiltCon, FiltSeq, Odom, OdomCon, OdomSeq
from queryable import (
    ZCDP,
    Ask,
    CanAfford,
    Coins,
    Failed,
    Halted,
    InteractiveMechanism,
    Launch,
    Launched,
    PrivacyClaimError,
    PrivacyLossQuery,
    PureDP,
    QueryError,
    Refused,
    SeededCoins,
    view,
)
from queryable.audit import every_outcome, hashable
from queryable.audit.views.scripts import snapshot
from queryable.conversation.stepping import advance, begin
from queryable.errors import RetiredChildError
from queryable.messages import LaunchMany, MeasureQuery, RemainingQuery, Stated
from queryable.view import View
from tests.audit.toys import Response, nats, script
from tests.strategies import (
    SECRET,
    WORD,
    BrokenMap,
    Faulty,
    Recorder,
    RecordingDataset,
    Toy,
    raising,
)

Compositor = InteractiveMechanism[Any]

CONCURRENT: dict[str, Callable[[], Compositor]] = {
    "FiltCon": lambda: FiltCon(PureDP(1)),
    "OdomCon": lambda: OdomCon(PureDP),
    "halting FiltCon": lambda: FiltCon(PureDP(1), on_exceed="halt"),
}
SEQUENTIAL: dict[str, Callable[[], Compositor]] = {
    "FiltSeq": lambda: FiltSeq(PureDP(1)),
    "OdomSeq": lambda: OdomSeq(PureDP),
}
NONINTERACTIVE: dict[str, Callable[[], Compositor]] = {
    "Filt": lambda: Filt(PureDP(1)),
    "Odom": lambda: Odom(PureDP),
}
FILTERS: dict[str, Callable[[], Compositor]] = {
    "FiltCon": lambda: FiltCon(PureDP(1)),
    "FiltSeq": lambda: FiltSeq(PureDP(1)),
}

LITTLE, MUCH = PureDP("1/100"), PureDP(50)


@attrs.frozen
class Counter(Toy):
    """Answers the number of earlier queries, and 64 random bits."""

    charged: Any = LITTLE

    def answer(self, state: int, coins: Coins) -> Any:
        return state, coins.draw(WORD)


class Run:
    """A compositor run step by step with replayable coins; a query error is returned as answer."""

    def __init__(self, mechanism: Compositor, dataset: Any = (1, 2, 3), seed: int = 3) -> None:
        self.mechanism, self.coins, self.messages = mechanism, SeededCoins(seed), 0
        self.state, self.opening = begin(mechanism, dataset, self.coins)

    def __call__(self, query: Any) -> Any:
        self.messages += 1
        try:
            self.state, answer = advance(
                self.mechanism, self.state, query, self.coins, self.messages
            )
        except QueryError as error:
            if "cannot be worked out" in str(error):  # a defect, not a wrong query
                raise
            return error
        return answer

    def all(self, queries: Iterable[Any]) -> list[Any]:
        """Return the answer to each query."""
        return [self(query) for query in queries]

    @property
    def loss(self) -> Any:
        """The reported privacy loss."""
        return self(PrivacyLossQuery())


# Laws of all compositors.


def siblings_do_not_disturb_each_other(build: Callable[[], Compositor]) -> None:
    """A child's answers depend only on how often it was asked, in any interleaving."""
    orders = ((0, 0, 0, 1, 1, 1), (1, 0, 1, 0, 1, 0), (0, 1, 1, 1, 0, 0))
    recorded = []
    for order in orders:
        run = Run(build())
        run.all([Launch(Counter()), Launch(Counter())])
        answers: dict[int, list[Any]] = {0: [], 1: []}
        for child in order:
            answers[child].append(run(Ask(child, "bits")))
        recorded.append(answers)
    assert recorded[0] == recorded[1] == recorded[2]
    assert [count for count, _ in recorded[0][0]] == [0, 1, 2]
    words = [word for answers in recorded[0].values() for _, word in answers]
    assert len(set(words)) == len(words)


def nothing_runs_before_it_is_paid(build: Callable[[], Compositor]) -> None:
    """A refused launch does not run and does not touch the data."""
    dataset, runs = RecordingDataset(), list[str]()
    run = Run(build(), dataset)
    assert isinstance(run(Launch(Recorder(runs, MUCH))), Refused | Halted)
    assert (runs, dataset.touched) == ([], [])


def a_refusal_leaves_no_trace(build: Callable[[], Compositor]) -> None:
    """The state is unchanged, and live children answer as without the refused launch."""
    refused, undisturbed = Run(build()), Run(build())
    for run in (refused, undisturbed):
        run.all([Launch(Counter()), Ask(0, "bits")])
    before = snapshot(refused.state)
    assert isinstance(refused(Launch(Toy(MUCH))), Refused)
    assert snapshot(refused.state) == before
    following = [Ask(0, "bits"), PrivacyLossQuery(), Launch(Counter()), Ask(1, "bits")]
    assert refused.all(following) == undisturbed.all(following)


def a_dry_run_changes_nothing(build: Callable[[], Compositor]) -> None:
    """Whether the launch fits or not."""
    run = Run(build())
    run(Launch(Counter()))
    before = snapshot(run.state)
    assert run(CanAfford(Launch(Toy(LITTLE)))) is True
    run(CanAfford(Launch(Toy(MUCH))))
    assert snapshot(run.state) == before


def a_measure_is_stated_for_nothing(build: Callable[[], Compositor]) -> None:
    """What launches state their loss in is public, before and after any of them."""
    run = Run(build())
    for query in (Launch(Recorder([], LITTLE)), Launch(Toy(MUCH)), PrivacyLossQuery()):
        before = snapshot(run.state)
        assert run(MeasureQuery()) == Stated(PureDP, 1)
        assert snapshot(run.state) == before
        run(query)


def what_is_left_is_admitted_and_no_more(build: Callable[[], Compositor]) -> None:
    """What remains after some launches is the largest loss of another one; asking changes nothing.

    It is stated for blocks nowhere but where there are some.
    """
    run = Run(build())
    for query in (Launch(Counter()), Launch(Toy(MUCH)), PrivacyLossQuery()):
        run(query)
    before = snapshot(run.state)
    left = run(RemainingQuery())
    assert left == PureDP("99/100")
    assert isinstance(run(RemainingQuery(["monday"])), QueryError)
    assert snapshot(run.state) == before
    assert run(CanAfford(Launch(Toy(left + PureDP("1/10000000"))))) is False
    assert isinstance(run(Launch(Toy(left))), Launched)
    assert run(RemainingQuery()) == PureDP(0)


def an_odometer_says_that_nothing_limits_it(build: Callable[[], Compositor]) -> None:
    """There is no budget, so the question what is left is wrong."""
    answer = Run(build())(RemainingQuery())
    assert isinstance(answer, QueryError)
    assert "odometer" in str(answer)


def a_report_counts_every_launch(build: Callable[[], Compositor]) -> None:
    """Immediately, whether the child answered, is live or failed."""
    run = Run(build())
    launched = (
        Counter(),
        Recorder([], LITTLE),
        Faulty(raising(ValueError()), True, charged=LITTLE),
    )
    for count, mechanism in enumerate(launched, 1):
        run(Launch(mechanism))
        assert run.loss == PureDP(Fraction(count, 100))


def a_failure_says_nothing_and_ends_the_child(build: Callable[[], Compositor]) -> None:
    """The answer is constant, at launch and later; the charge and the id stay used."""
    run, fault = Run(build()), raising(ValueError(SECRET))
    assert run(Launch(Faulty(fault, at_launch=True, charged=LITTLE))) == Failed()
    assert run(Launch(Faulty(fault, good=1, charged=LITTLE))) == Launched(1, None)
    assert run.all([Ask(1, "bits"), Ask(1, "bits")]) == [0, Failed()]
    assert isinstance(run(Ask(1, "bits")), RetiredChildError)
    assert run.loss == PureDP("1/50")
    assert run(Launch(Counter())) == Launched(2, None)


def no_id_is_used_twice(build: Callable[[], Compositor]) -> None:
    """This includes ids of retired children and of measurements."""
    run = Run(build())
    run(Launch(Recorder([], LITTLE)))
    run(Launch(Faulty(raising(ValueError()), charged=LITTLE)))
    run(Ask(1, "bits"))
    assert run(Launch(Counter())) == Launched(2, None)
    assert isinstance(run(Ask(1, "bits")), RetiredChildError)


def ids_are_no_booleans(build: Callable[[], Compositor]) -> None:
    """`Ask(False, ...)` differs from `Ask(0, ...)`."""
    run = Run(build())
    run(Launch(Counter()))
    assert isinstance(run(Ask(False, "bits")), QueryError)
    assert run(Ask(0, "bits"))[0] == 0


def a_claim_below_the_map_is_refused(build: Callable[[], Compositor]) -> None:
    """It is refused for every budget, before anything runs."""
    runs = list[str]()
    run = Run(build())
    run(Launch(Counter()))
    before = snapshot(run.state)
    answer = run(Launch(Recorder(runs, PureDP("1/2")), PureDP("1/4")))
    assert isinstance(answer, PrivacyClaimError)
    broken = run(Launch(BrokenMap(map=lambda d_in, measure: ZCDP(0))))
    assert isinstance(broken, PrivacyClaimError)
    assert (runs, snapshot(run.state)) == ([], before)


def several_launches_are_single_ones(build: Callable[[], Compositor]) -> None:
    """Answers, ids, bits, charges and what comes after are those of one after the other."""
    fault = Faulty(raising(ValueError(SECRET)), True, charged=LITTLE)
    launches = [Launch(Counter()), Launch(Toy(MUCH)), Launch(fault), Launch(Counter())]
    together, alone = Run(build()), Run(build())
    assert together(LaunchMany(launches)) == tuple(alone.all(launches))
    assert together.loss == alone.loss
    following = [Ask(0, "bits"), Launch(Counter()), Ask(2, "bits"), Ask(3, "bits")]
    assert list(map(repr, together.all(following))) == list(map(repr, alone.all(following)))


def a_wrong_launch_among_several_changes_nothing(build: Callable[[], Compositor]) -> None:
    """Those before it are not charged, and do not run."""
    runs = list[str]()
    run = Run(build())
    before = snapshot(run.state)
    launches = [Launch(Recorder(runs, LITTLE)), Launch(None)]
    assert isinstance(run(LaunchMany(launches)), QueryError)
    assert (runs, snapshot(run.state)) == ([], before)


def nothing_starts_anew(build: Callable[[], Compositor]) -> None:
    """The paper's empty message is an illegal query, and the charge stays."""
    run = Run(build())
    run(Launch(Toy(PureDP("3/4"))))
    for message in ("", None, (), "init"):
        assert isinstance(run(message), QueryError)
    assert run.loss == PureDP("3/4")
    assert isinstance(run(Ask(0, "")), QueryError)
    assert run(Ask(0, "bits")) == 0


# Laws of some compositors.


def a_budget_is_exact(build: Callable[[], Compositor]) -> None:
    """Ten launches of 0.1 fit into 1, and no positive loss fits after them."""
    run = Run(build())
    for _ in range(10):
        assert isinstance(run(Launch(Recorder([], PureDP(0.1)))), Launched)
    refused = run(Launch(Recorder([], PureDP(1e-17))))
    assert isinstance(refused, Refused)
    assert (refused.spent, refused.remaining) == (PureDP(1), PureDP(0))
    assert isinstance(run(Launch(Recorder([], PureDP(0)))), Launched)


def a_launch_retires_earlier_children(build: Callable[[], Compositor]) -> None:
    """In a sequential compositor, permanently, with all below them; a measurement is a launch."""
    run = Run(build())
    inner = Ask(0, Launch(Counter()))
    run.all([Launch(FiltCon(PureDP("1/2"))), inner, Launch(Counter())])
    for below in ("bits", PrivacyLossQuery(), Launch(Counter()), Ask(0, "bits")):
        assert isinstance(run(Ask(0, below)), RetiredChildError)
    assert run(Ask(1, "bits"))[0] == 0
    run(Launch(Recorder([], LITTLE)))
    assert isinstance(run(Ask(1, "bits")), RetiredChildError)
    assert run.loss == PureDP("52/100")


def interactive_children_are_refused(build: Callable[[], Compositor]) -> None:
    """In a compositor of measurements."""
    run = Run(build())
    assert run(Launch(Recorder([], LITTLE))).child is None
    error = run(Launch(Counter()))
    assert isinstance(error, QueryError)
    assert "Counter is interactive" in str(error)
    assert run.loss == LITTLE


def what_halted_stays_halted() -> None:
    """After Halt nothing is launched or asked; the loss is still reported."""
    run = Run(FiltCon(PureDP(1), on_exceed="halt"))
    run(Launch(Counter()))
    assert isinstance(run(Launch(Toy(MUCH))), Halted)
    for query in (Launch(Counter()), Ask(0, "bits"), Launch(Recorder([], LITTLE))):
        assert isinstance(run(query), Halted)
    assert run.loss == LITTLE


def every_launch_counts_toward_the_limit() -> None:
    """This includes measurements and failed launches; an odometer has a limit too."""
    for limited in (FiltCon(PureDP(1), max_mechanisms=3), OdomCon(PureDP, max_mechanisms=3)):
        run = Run(limited)
        run(Launch(Counter()))
        run(Launch(Recorder([], LITTLE)))
        run(Launch(Faulty(raising(ValueError()), at_launch=True, charged=LITTLE)))
        refused = run(Launch(Recorder([], LITTLE)))
        assert isinstance(refused, Refused)
        assert "count limit" in refused.reason
        assert run(Ask(0, "bits"))[0] == 0


def a_truncated_view_drops_the_answer_that_crosses() -> None:
    """Algorithm 5 reads the new state's report: a threshold of one response shows one."""
    adversary, threshold = script(*[Launch(Response(3))] * 3), PureDP(nats(3))
    laws: list[dict[Any, Fraction]] = [{}, {}]
    for bit, law in enumerate(laws):

        def seen_of(coins: Coins, bit: int = bit) -> View:
            return view.truncated_view(OdomCon(PureDP), bit, adversary, threshold, coins)

        for chance, seen in every_outcome(seen_of):
            key = hashable(seen.answers)
            law[key] = law.get(key, Fraction(0)) + chance
    assert {len(seen) for seen in laws[0]} == {1}
    assert max(laws[0][seen] / laws[1][seen] for seen in laws[0]) == 3


LAWS: tuple[tuple[Callable[[Callable[[], Compositor]], None], dict[str, Any]], ...] = (
    (siblings_do_not_disturb_each_other, CONCURRENT),
    (nothing_runs_before_it_is_paid, FILTERS),
    (a_refusal_leaves_no_trace, FILTERS),
    (a_dry_run_changes_nothing, CONCURRENT | SEQUENTIAL),
    (a_measure_is_stated_for_nothing, CONCURRENT | SEQUENTIAL | NONINTERACTIVE),
    (what_is_left_is_admitted_and_no_more, FILTERS),
    (an_odometer_says_that_nothing_limits_it, {"OdomCon": CONCURRENT["OdomCon"]}),
    (a_report_counts_every_launch, CONCURRENT | SEQUENTIAL),
    (a_failure_says_nothing_and_ends_the_child, CONCURRENT | SEQUENTIAL),
    (no_id_is_used_twice, CONCURRENT | SEQUENTIAL),
    (ids_are_no_booleans, CONCURRENT | SEQUENTIAL),
    (a_claim_below_the_map_is_refused, CONCURRENT | SEQUENTIAL | NONINTERACTIVE),
    (several_launches_are_single_ones, CONCURRENT | SEQUENTIAL),
    (a_wrong_launch_among_several_changes_nothing, CONCURRENT | SEQUENTIAL | NONINTERACTIVE),
    (nothing_starts_anew, CONCURRENT | SEQUENTIAL),
    (a_budget_is_exact, FILTERS),
    (a_launch_retires_earlier_children, SEQUENTIAL),
    (interactive_children_are_refused, NONINTERACTIVE),
)
"""Each law, with the compositors that it applies to."""

SINGLE = (
    what_halted_stays_halted,
    every_launch_counts_toward_the_limit,
    a_truncated_view_drops_the_answer_that_crosses,
)
"""Laws of one compositor."""
