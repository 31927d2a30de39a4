"""The paper's reductions: each view has exactly the law of the one it is reduced to."""

from fractions import Fraction
from itertools import product
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from composition import (
    Basic,
    ConComp,
    Filt,
    FiltCon,
    GDPResidue,
    Menu,
    OdomCon,
    Rogers2016,
    Universal,
    ViaZCDP,
    Whitehouse2023,
    accumulator_of,
    filter_of,
)
from composition.rules import Additive
from composition.rules.residue import residue
from queryable import (
    RDP,
    SYSTEM,
    ZCDP,
    ApproxDP,
    Ask,
    CanAfford,
    Coins,
    Failed,
    FromAnalyst,
    FromMechanism,
    Halted,
    InteractiveMechanism,
    Launch,
    Launched,
    PersonInTheMiddle,
    PrivacyClaimError,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    QueryError,
    Refused,
    ToAnalyst,
    ToMechanism,
    UnknownQueryError,
    interact,
    truncated_view,
)
from queryable.audit import every_outcome, hashable, push_forward, view_law
from queryable.conversation.stepping import advance, begin
from queryable.losses import Dominated
from queryable.losses.conversions import least
from queryable.randomness.laws import Bernoulli
from queryable.view import View
from tests.audit.toys import (
    Broken,
    Clumsy,
    ClumsyAtOnce,
    F,
    PadReveal,
    Reported,
    Response,
    TwoRounds,
    nats,
    reader,
    script,
    wanderer,
)
from tests.proofs.reductions import (
    AtOrder,
    InductionStep,
    NoninteractiveLaunches,
    WithoutPrivacyLoss,
    WithPrivacyLoss,
)
from tests.proofs.simulation import adversary_through, view_through
from tests.strategies import Toy

BITS = (0, 1)
LAUNCHES = (
    Launch(reader(3)),
    Launch(Response(2)),
    Launch(Response(2), PureDP(nats(3))),
    Launch(reader(F(3, 2))),
    Launch(Broken()),
)
FITS = PureDP(3 * nats(3) + nats(2))
"""Fits about three of the launches, so that adversaries meet refusals."""


def laws(mechanism: Any, adversary: Any) -> list[Any]:
    """The law of the view for each bit."""
    return [view_law(mechanism, bit, adversary) for bit in BITS]


def view_laws(run: Any) -> list[dict[Any, Fraction]]:
    """The law of `run(bit, coins).answers` for each bit."""
    found = []
    for bit in BITS:
        law: dict[Any, Fraction] = {}
        for chance, view in every_outcome(lambda coins, b=bit: run(b, coins)):
            seen = hashable((view.opening, *view.answers))
            law[seen] = law.get(seen, F(0)) + chance
        found.append(law)
    return found


# Algorithms 8 and 9: P o M against A is g of M against A'.


@attrs.frozen
class Busy(PersonInTheMiddle[Any]):
    """Does everything a person may do: answers alone, asks once or twice, changes answers."""

    def init(self) -> Any:
        return None

    def step(self, state: Any, message: Any, coins: Coins) -> tuple[Any, Any]:
        match message, state:
            case FromAnalyst("hello"), _:
                return None, ToAnalyst("hello")
            case FromAnalyst(("twice", query)), _:
                return ("first", query), ToMechanism(query)
            case FromAnalyst(query), _:
                return None, ToMechanism(query)
            case FromMechanism(answer), ("first", query):
                return ("second", answer), ToMechanism(query)
            case FromMechanism(answer), ("second", first):
                return None, ToAnalyst((first, answer))
            case FromMechanism(answer), _:
                return None, ToAnalyst(("heard", answer))
        raise AssertionError(message)


BUSY = (
    script("hello"),
    script(Launch(reader(3)), ("twice", Ask(0, "read")), "hello", Ask(0, "read")),
    script(("twice", Launch(Response(3))), "hello", ("twice", PrivacyLossQuery())),
    script(*[("twice", Launch(Response(3)))] * 3),
    lambda view: (
        [Launch(reader(3)), ("twice", Ask(0, "read"))][len(view)]
        if len(view) < 2
        else ("twice", Launch(Response(2)))
        if len(view) < 4 and view.answers[1] == (True, True)
        else None
    ),
)


@pytest.mark.parametrize("adversary", BUSY)
def test_postprocessing_is_played_by_the_adversary(adversary: Any) -> None:
    """Algorithms 8 and 9: the view of A against P o M is g of the view of A' against M."""
    person, mechanism = Busy(), FiltCon(FITS)
    played = adversary_through(person, adversary)
    read = view_laws(
        lambda bit, coins: view_through(interact(mechanism, bit, played, coins), person, adversary)
    )
    assert read == laws(person @ mechanism, adversary)


@attrs.frozen
class Table:
    """Replayable coins, as Algorithm 8 needs: the n-th message has the n-th bit of a table."""

    bits: tuple[bool, ...]
    place: int = 0

    def draw(self, law: Any, size: Any = None) -> bool:
        assert law == Bernoulli(F(1, 2))
        return self.bits[self.place]

    def spawn(self, child: Any, message: int) -> "Table":
        return Table(self.bits, message)


@attrs.frozen
class Flips(PersonInTheMiddle[int]):
    """Tosses a coin of its own, and asks the mechanism for its key on heads."""

    def init(self) -> int:
        return 0

    def step(self, state: int, message: Any, coins: Coins) -> tuple[int, Any]:
        match message:
            case FromAnalyst(query):
                return 1, ToMechanism(query)
            case FromMechanism(answer) if state == 1:
                heads = coins.draw(Bernoulli(F(1, 2)))
                return (2, ToMechanism("key")) if heads else (0, ToAnalyst(answer))
            case FromMechanism(answer):
                return 0, ToAnalyst(("again", answer))
        raise AssertionError(message)


def test_a_person_with_coins_is_played_by_a_mixture() -> None:
    """Each outcome of the person's coins gives an A'; the average of the laws is equal."""

    def adversary(view: View) -> Any:
        return None if len(view) == 2 else "sum" if not view.answers else "key"

    person, mechanism = Flips(), PadReveal(3)
    tables = [Table(bits) for bits in product((False, True), repeat=7)]
    mixed: list[dict[Any, Fraction]] = [{}, {}]
    for table in tables:
        played = adversary_through(person, adversary, table)
        read = view_laws(
            lambda bit, coins, t=table, a=played: view_through(
                interact(mechanism, bit, a, coins), person, adversary, t
            )
        )
        for law, part in zip(mixed, read, strict=True):
            for seen, chance in part.items():
                law[seen] = law.get(seen, F(0)) + chance / len(tables)
    assert mixed == laws(person @ mechanism, adversary)
    assert len(mixed[0]) > 4


def test_a_person_with_coins_must_replay() -> None:
    """Coins that do not replay would give A' a different person each time; they are refused."""
    played = adversary_through(Flips(), script("sum", "key"))
    with pytest.raises(ValueError, match="pass SeededCoins"):
        interact(PadReveal(3), 0, played)


# Algorithm 11: Filt becomes FiltCon.


@pytest.mark.parametrize("seed", range(12))
def test_filters_of_measurements_take_interactive_mechanisms(seed: int) -> None:
    """Algorithm 11: `Filt`, seen through the person, has exactly the view of `FiltCon`."""
    others = (PrivacyLossQuery(), PrivacyLossQuery(2), CanAfford(Launch(Response(2))))
    adversary = wanderer(seed, LAUNCHES, ("read",), 6, others)
    found = laws(FiltCon(FITS), adversary)
    assert found == laws(NoninteractiveLaunches() @ Filt(FITS), adversary)
    assert all(sum(law.values()) == 1 for law in found)


def test_a_failing_person_ends_alone() -> None:
    """Algorithm 11 contains failures of its persons at a launch, as `FiltCon` does."""
    clumsy = Launch(ClumsyAtOnce() @ Response(3))
    adversary = script(clumsy, Launch(reader(2)), Ask(1, "read"), Launch(Response(2)))
    found = laws(FiltCon(FITS), adversary)
    assert any(Failed() in seen for law in found for seen in law)
    assert found == laws(NoninteractiveLaunches() @ Filt(FITS), adversary)


def test_a_person_that_fails_later_changes_nothing() -> None:
    """What it was asked is a wrong query in both: nothing is read for it."""
    clumsy = Launch(Clumsy() @ Response(3))
    asks = (Ask(0, "read"), Ask(1, "read"), Ask(0, "read"))
    adversary = script(clumsy, Launch(reader(2)), *asks, Launch(Response(2)))
    found = laws(Answering(FiltCon(FITS)), adversary)
    assert any(QueryError in seen for law in found for seen in law)
    assert found == laws(Answering(NoninteractiveLaunches() @ Filt(FITS)), adversary)


@attrs.frozen
class Answering(InteractiveMechanism[Any]):
    """Answers the class of a `QueryError`, so that an adversary goes on after one."""

    mechanism: InteractiveMechanism[Any]

    def loss(self, d_in: int) -> Any:
        return self.mechanism.loss(d_in)

    def init(self, dataset: Any, coins: Any = SYSTEM) -> Any:
        return begin(self.mechanism, dataset, coins)

    def step(self, state: Any, query: Any, coins: Any = SYSTEM) -> Any:
        try:
            return advance(self.mechanism, state, query, coins, 1)
        except QueryError as error:
            return state, type(error)


# Algorithm 12: a filter for two becomes a filter for K.


@attrs.frozen
class InductionToTheEnd(InductionStep):
    """Algorithm 12 with F_{K-1} made by the same induction, down to F_2."""

    def rest(self, left: Any) -> Any:
        if self.most <= 3:
            return super().rest(left)
        return type(self)(left, self.most - 1, self.d_in) @ FiltCon(
            left, d_in=self.d_in, max_mechanisms=2
        )


INDUCED = (
    PrivacyLossQuery(),
    PrivacyLossQuery(0),
    PrivacyLossQuery(2),
    CanAfford(Launch(Response(3))),
    CanAfford(Launch(PadReveal(8))),
)


SEEDS = (0, 1)
"""Of adversaries of the quick tests, which together meet every case; see the last test."""


@pytest.mark.parametrize(
    "seed", [pytest.param(n, marks=[pytest.mark.slow] * (n not in SEEDS)) for n in range(6)]
)
@pytest.mark.parametrize("most", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("person", [InductionStep, InductionToTheEnd])
def test_two_slots_are_enough(person: Any, most: int, seed: int) -> None:
    """Algorithm 12: F_K through F_2 is F_K, including refusals, limits, reports and dry runs."""
    adversary = wanderer(seed, LAUNCHES, ("read", PrivacyLossQuery()), 7, INDUCED)
    whole = FiltCon(FITS, max_mechanisms=most)
    through = person(FITS, most) @ FiltCon(FITS, max_mechanisms=2)
    assert laws(whole, adversary) == laws(through, adversary)


@pytest.mark.parametrize("seeds", [(0, 1), pytest.param((2, 3, 4), marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "budget", [ZCDP(1), RDP(8, 3), ApproxDP(FITS.epsilon, "1/100"), PureDP("1/10")]
)
def test_two_slots_are_enough_in_every_measure(budget: Any, seeds: tuple[int, ...]) -> None:
    """Algorithm 12 is stated for Renyi privacy and holds for every additive measure."""
    others = [CanAfford(Launch(Response(3))), PrivacyLossQuery()]
    launches = [Launch(launch.mechanism) for launch in LAUNCHES]
    if isinstance(budget, ApproxDP):
        launches.append(Launch(Response(F(3, 2), delta="1/150")))
    for seed in seeds:
        adversary = wanderer(seed, launches, ("read",), 6, others)
        through = InductionStep(budget, 4) @ FiltCon(budget, max_mechanisms=2)
        assert laws(FiltCon(budget, max_mechanisms=4), adversary) == laws(through, adversary)


def test_two_slots_are_enough_for_budgets_of_two_records() -> None:
    """Algorithm 12 with the budget stated for data that differ in two records."""
    for seed in range(5):
        adversary = wanderer(seed, LAUNCHES, ("read",), 6, INDUCED)
        through = InductionStep(FITS, 4, d_in=2) @ FiltCon(FITS, d_in=2, max_mechanisms=2)
        whole = FiltCon(FITS, d_in=2, max_mechanisms=4)
        assert laws(whole, adversary) == laws(through, adversary)


def test_induction_that_reuses_the_budget_is_detected() -> None:
    """Mutation: a person that gives the whole budget to the rest again is not F_K."""

    @attrs.frozen
    class Generous(InductionStep):
        def rest(self, left: Any) -> Any:
            return super().rest(self.budget)

    adversary = script(*[Launch(Response(3))] * 4)
    through = Generous(FITS, 4) @ FiltCon(PureDP(100), max_mechanisms=2)
    assert laws(FiltCon(FITS, max_mechanisms=4), adversary) != laws(through, adversary)


def test_ids_in_reductions_are_never_booleans() -> None:
    """`Ask(True, ...)` names no child, in a filter or in its reductions."""
    launches = (Launch(reader(3)), Launch(reader(2)))
    for mechanism in (
        FiltCon(FITS),
        NoninteractiveLaunches() @ Filt(FITS),
        InductionStep(FITS, 4) @ FiltCon(FITS, max_mechanisms=2),
    ):
        with pytest.raises(QueryError):
            view_law(mechanism, 1, script(*launches, Ask(True, "read")))


@pytest.mark.parametrize("most", [0, -1, 2.5, None])
def test_induction_needs_a_count(most: Any) -> None:
    """K must be an integer of at least one."""
    with pytest.raises((TypeError, ValueError), match="most"):
        InductionStep(FITS, most)


def test_two_mechanisms_are_one_and_a_universal() -> None:
    """Proof of Lemma 4.7: F_2 is ConComp(M_1, U), with U universal for the remaining budget."""
    first, second = reader(3), PadReveal(2)
    launched = script(
        Launch(first), Ask(0, "read"), Launch(second), Ask(1, "sum"), Ask(0, "read"), Ask(1, "key")
    )
    fixed = script(
        Ask(0, "read"), Ask(1, Launch(second)), Ask(1, "sum"), Ask(0, "read"), Ask(1, "key")
    )
    left = PureDP(FITS.epsilon - nats(3))
    filtered = laws(FiltCon(FITS, max_mechanisms=2), launched)
    composed = laws(ConComp([first, Universal(left)]), fixed)
    assert [push_forward(law, lambda seen: (seen[2], *seen[4:])) for law in filtered] == [
        push_forward(law, lambda seen: (seen[1], *seen[3:])) for law in composed
    ]


# Algorithm 10: the universal mechanism.


@pytest.mark.parametrize(
    ("mechanism", "queries"),
    [
        (PadReveal(3), ("key", "sum")),
        (TwoRounds(), ("next", "next")),
        (reader(3, delta="1/9"), ("read", "read")),
        (Response(3), ()),
        (FiltCon(FITS), (Launch(reader(3)), Launch(Response(9)), Ask(0, "read"))),
    ],
)
def test_universal_is_what_it_launches(mechanism: Any, queries: tuple[Any, ...]) -> None:
    """Algorithm 10: after its launch, the universal mechanism has the law of the launched one."""
    universal = Universal(ApproxDP(9, "1/9"))
    chosen = laws(universal, script(Launch(mechanism), *queries))
    assert [push_forward(law, lambda seen: seen[1:]) for law in chosen] == laws(
        mechanism, script(*queries)
    )


def test_universal_checks_the_budget() -> None:
    """Not in the paper: a mechanism above the budget is refused, and another may follow."""
    universal = Universal(PureDP(nats(2)))
    state, _ = begin(universal, 1, SYSTEM)
    with pytest.raises(PrivacyClaimError, match="does not fit"):
        advance(universal, state, Launch(Response(3)), SYSTEM, 1)
    with pytest.raises(PrivacyClaimError, match="does not fit"):
        advance(universal, state, Launch(Response(F(3, 2)), PureDP(nats(3))), SYSTEM, 1)
    after, answer = advance(universal, state, Launch(Response(2)), SYSTEM, 1)
    assert isinstance(answer, bool)
    with pytest.raises(UnknownQueryError):
        advance(universal, after, Launch(Response(2)), SYSTEM, 2)


# Algorithm 13: an RDP filter becomes a zCDP filter.


@pytest.mark.parametrize("alpha", [2, F(3, 2), 8, 100])
@pytest.mark.parametrize("seed", range(3))
def test_renyi_filters_make_zcdp_filters(alpha: Any, seed: int) -> None:
    """Algorithm 13: the person over an (alpha, rho*alpha)-RDP filter is the rho-zCDP filter."""
    budget = ZCDP("6/5")
    launches = [
        Launch(reader(3)),
        Launch(Response(2)),
        Launch(Response(2), ZCDP("1/2")),
        Launch(FiltCon(ZCDP("1/2"))),
    ]
    others = (
        PrivacyLossQuery(),
        PrivacyLossQuery(1),
        CanAfford(Launch(Response(3))),
        CanAfford(Launch(PadReveal(4))),
    )
    adversary = wanderer(seed, launches, (PrivacyLossQuery(),), 6, others)
    through = AtOrder(alpha) @ FiltCon(RDP(alpha, budget.rho * alpha))
    assert laws(FiltCon(budget), adversary) == laws(through, adversary)


@pytest.mark.parametrize("query", [PrivacyLossQuery(2), Ask(0, PrivacyLossQuery(2))])
def test_renyi_reports_at_other_d_in_are_no_zcdp_reports(query: Any) -> None:
    """A Renyi loss at one order over alpha is below the zCDP loss of randomized response."""
    through = AtOrder(8) @ FiltCon(RDP(8, 16))
    naive = Response(3).privacy_map(2, RDP.at(8)).epsilon / 8
    assert naive < Response(3).privacy_map(2, ZCDP).rho
    with pytest.raises(UnknownQueryError, match="d_in=1 only"):
        view_law(through, 1, script(Launch(reader(3)), query))


def test_claims_are_made_at_the_filters_d_in() -> None:
    """For two records rho is four times that for one, in launches and in dry runs."""
    person, launch = AtOrder(8, d_in=2), Launch(Toy(ZCDP("0.1")))
    charged = Launch(Toy(ZCDP("0.1")), RDP(8, "3.2"))
    for sent, passed in ((launch, charged), (CanAfford(launch), CanAfford(charged))):
        assert person.step(None, FromAnalyst(sent), SYSTEM)[1] == ToMechanism(passed)
    q = Queryable(person @ FiltCon(RDP(8, 4), d_in=2), None)
    q.launch(Toy(ZCDP("0.1")))
    assert q.privacy_loss() == ZCDP("0.4")


def test_a_claim_is_checked_in_zcdp() -> None:
    """A d_out below the zCDP map is refused, though the Renyi map might be below it."""
    person = AtOrder(8)
    with pytest.raises(PrivacyClaimError, match="below the privacy map"):
        person.step(None, FromAnalyst(Launch(Toy(PureDP(3)), ZCDP("0.4"))), SYSTEM)
    assert PureDP(3).to(RDP.at(8)) <= RDP(8, "3.2")


# Algorithms 14 and 15, Lemma 2.19: odometers stopped at d and filters at d.


@attrs.frozen
class Stopped(InteractiveMechanism[Any]):
    """The paper's M: an odometer that halts, state unchanged, if its report would exceed d."""

    odometer: OdomCon
    threshold: Any

    reports_loss = True

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return (self.odometer.init(dataset, coins)[0], False), None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        inner, halted = state
        if isinstance(query, PrivacyLossQuery):
            return state, self.odometer.step(inner, query, coins)[1]
        if halted:
            return state, Halted("insufficient budget")
        after, answer = self.odometer.step(inner, query, coins)
        if self.odometer.step(after, PrivacyLossQuery(), coins)[1] <= self.threshold:
            return (after, False), answer
        return (inner, True), Halted("insufficient budget")


def without_halt(law: Any) -> dict[Any, Fraction]:
    """Views cut before the first `Halted`."""
    return push_forward(law, lambda seen: tuple(a for a in seen if not isinstance(a, Halted)))


def until_halted(adversary: Any) -> Any:
    """The adversary, stopping after `Halted`."""
    return lambda view: (
        None if any(isinstance(a, Halted) for a in view.answers) else adversary(view)
    )


REPORTED = Reported(Whitehouse2023(), "1/9")
ODOMETERS = (
    (OdomCon(PureDP), Additive(PureDP), Basic(), FITS),
    (OdomCon(ZCDP), Additive(ZCDP), Basic(), ZCDP("6/5")),
    (OdomCon(ApproxDP, REPORTED), REPORTED, filter_of(REPORTED), ApproxDP(4, "1/9")),
)


SOME_SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))]
"""Each seed is another adversary."""


@pytest.mark.parametrize(("odometer", "accumulator", "rule", "threshold"), ODOMETERS)
@pytest.mark.parametrize("seed", SOME_SEEDS)
def test_a_stopped_odometer_is_a_postprocessed_filter(
    odometer: Any, accumulator: Any, rule: Any, threshold: Any, seed: int
) -> None:
    """Algorithm 14: the filter at d, with a report, is the odometer stopped at d."""
    launches = [Launch(launch.mechanism) for launch in LAUNCHES]
    adversary = wanderer(seed, launches, ("read",), 7, (PrivacyLossQuery(),))
    reporting = WithPrivacyLoss(accumulator) @ FiltCon(threshold, rule, on_exceed="halt")
    stopped = laws(Stopped(odometer, threshold), adversary)
    assert laws(reporting, adversary) == stopped
    truncated = view_laws(
        lambda bit, coins: truncated_view(odometer, bit, until_halted(adversary), threshold, coins)
    )
    assert truncated == [without_halt(law) for law in laws(reporting, until_halted(adversary))]


@pytest.mark.parametrize(("odometer", "accumulator", "rule", "threshold"), ODOMETERS)
@pytest.mark.parametrize("seed", SOME_SEEDS)
def test_a_filter_is_a_postprocessed_stopped_odometer(
    odometer: Any, accumulator: Any, rule: Any, threshold: Any, seed: int
) -> None:
    """Algorithm 15: the odometer stopped at d, without its report, is the filter at d."""
    launches = [Launch(launch.mechanism) for launch in LAUNCHES]
    adversary = wanderer(seed, launches, ("read",), 7)
    filtered = laws(FiltCon(threshold, rule, on_exceed="halt"), adversary)
    stopped = Stopped(odometer, threshold)
    assert laws(WithoutPrivacyLoss() @ stopped, adversary) == filtered
    reporting = WithPrivacyLoss(accumulator) @ FiltCon(threshold, rule, on_exceed="halt")
    assert laws(WithoutPrivacyLoss() @ reporting, adversary) == filtered


def test_the_report_is_taken_away() -> None:
    """Algorithm 15 treats a privacy_loss query as invalid."""
    with pytest.raises(UnknownQueryError):
        view_law(WithoutPrivacyLoss() @ OdomCon(PureDP), 1, script(PrivacyLossQuery()))


def test_a_launched_odometer_is_the_filter() -> None:
    """An odometer launched with d_out has the same views as the filter at d_out."""
    root = FiltCon(PureDP(9))
    inner = [Ask(0, query) for query in (Launch(reader(3)), Launch(Response(3)), Ask(0, "read"))]
    more = [Ask(0, Launch(PadReveal(9))), Ask(0, PrivacyLossQuery()), PrivacyLossQuery()]
    odometer = script(Launch(OdomCon(PureDP), FITS), *inner, *more)
    filtered = script(Launch(FiltCon(FITS)), *inner, *more)
    assert laws(root, odometer) == laws(root, filtered)


# Lemma 2.19 on the rules themselves.

SIZES = st.lists(st.fractions(min_value=0, max_value=1, max_denominator=100), max_size=8)


def decides(rule: Any, budget: Any, losses: Any) -> bool:
    """F: whether the rule admits all losses in order."""
    account = rule.open(budget)
    for loss in losses:
        account = account.add(loss)
        if not account.within:
            return False
    return True


@settings(max_examples=20)
@given(SIZES, st.fractions(min_value=0, max_value=4, max_denominator=50))
@pytest.mark.parametrize("measure", [PureDP, ZCDP])
def test_the_filter_of_the_sum_is_the_basic_rule(measure: Any, sizes: Any, budget: Any) -> None:
    """Lemma 2.19, F from G: [sum <= d] decides exactly as the basic filter, including ties."""
    losses = [measure(size) for size in sizes]
    for at in (measure(budget), measure(sum(sizes, F(0)))):
        assert decides(filter_of(Additive(measure)), at, losses) == decides(Basic(), at, losses)


RULES = (
    (Basic(), PureDP, None, PureDP),
    (Basic(), ApproxDP, F(1, 9), PureDP),
    (Whitehouse2023("1/20"), ApproxDP, F(1, 9), PureDP),
    (ViaZCDP("1/20"), ApproxDP, F(1, 9), ZCDP),
)


@settings(max_examples=10)
@given(sizes=SIZES, budget=st.fractions(min_value=0, max_value=9, max_denominator=50))
@pytest.mark.parametrize(("rule", "measure", "delta", "kind"), RULES)
def test_the_accumulator_of_a_rule_decides_alike(
    rule: Any, measure: Any, delta: Any, kind: Any, sizes: Any, budget: Any
) -> None:
    """Lemma 2.19, G from F: [G <= d] admits only what F admits, and F's cases at d + 2^-50.

    G is found by bisection from above; the gap is its rounding.
    """

    def at(epsilon: Any) -> Any:
        return measure(epsilon) if delta is None else measure(epsilon, delta)

    losses = [kind(size).to(rule.child_measure(at(1))) for size in sizes]
    dual = filter_of(accumulator_of(rule, measure, delta))
    admitted = decides(rule, at(budget), losses)
    if decides(dual, at(budget), losses):
        assert admitted
    elif admitted:
        assert decides(dual, at(budget * (1 + F(1, 2**50)) + F(1, 2**50)), losses)


def test_the_accumulator_of_a_rule_is_where_it_begins_to_admit() -> None:
    """G of Whitehouse's rule is the least epsilon that fits, and equals its report."""
    rule, loss = Whitehouse2023("1/20"), ApproxDP("1/10", 0)
    account = accumulator_of(rule, ApproxDP, "1/20").open()
    assert account.total() == ApproxDP(0, 0)
    for count in range(1, 4):
        account = account.add(loss)
        least = account.total()
        assert decides(rule, least, [loss] * count)
        below = ApproxDP(least.epsilon * (1 - F(1, 2**40)), "1/20")
        assert not decides(rule, below, [loss] * count)


@pytest.mark.parametrize(
    ("rule", "losses"),
    [
        (GDPResidue(), [Dominated("0.1", 0, 0)] * 4),
        (GDPResidue(), [Dominated(0, "0.2", 0)] * 3),
        (
            GDPResidue("5e-7"),
            [
                *(Dominated(0, 0, "1e-8"), Dominated(1, "0.2", "1e-8"), Dominated(3, "0.3", 0)),
                *(Dominated("0.05", 0, 0), Dominated(0, "0.3", 0), Dominated(0, 0, "1e-8")),
            ],
        ),
        (Menu("0.1", [1, 2, 5]), [ApproxDP(each, 0) for each in ("0.1", "0.5", "0.2", 0, "0.5")]),
        (Menu("0.1", [1], slack="1e-7"), [ApproxDP("0.1", "1e-8")] * 3),
    ],
)
def test_an_odometer_of_a_rule_reports_what_bisection_of_its_filter_finds(
    rule: Any, losses: Any
) -> None:
    """After each launch: the least budget at this delta whose filter admits all so far."""
    account = accumulator_of(rule, ApproxDP, "1e-6").open()
    for count, loss in enumerate(losses, 1):
        account = account.add(loss)
        assert not account.objection
        found = account.total()

        def admits(epsilon: Any, count: int = count) -> bool:
            return decides(rule, ApproxDP(epsilon, "1e-6"), losses[:count])

        assert admits(found.epsilon)
        true = least(admits)
        assert found.epsilon <= true * (1 + F(1, 2**36))
    q = Queryable(OdomCon(rule.child_measure(found), accumulator_of(rule, ApproxDP, "1e-6")), 1)
    for loss in losses:
        q.launch(Toy(loss))
    assert q.privacy_loss() == account.total()
    refused = account.add(attrs.evolve(losses[0], delta="1e-6"))
    assert "no budget" in refused.objection


def test_an_odometer_of_a_residue_reports_beyond_every_usual_budget() -> None:
    """Residues of a mu above 128 need not be the largest; they still fall with every launch."""
    account = accumulator_of(GDPResidue(), ApproxDP, "1e-6").open()
    for _ in range(3):
        account = account.add(Dominated(500, 90, 0))
    assert not account.objection
    found = account.total().epsilon
    losses = [Dominated(500, 90, 0)] * 3
    assert 5000 < found < 30_000
    assert decides(GDPResidue(), ApproxDP(found, "1e-6"), losses)
    assert not decides(GDPResidue(), ApproxDP(found / 2, "1e-6"), losses)
    left = [residue(F(mu), F(1, 2)) for mu in (127, 128, 129, 140, 10**6)]
    assert None not in left
    assert left == sorted(left)  # type: ignore[type-var]


@pytest.mark.parametrize("loss", [ApproxDP(1, "1/1000"), ApproxDP(2**50, 0)])
def test_a_loss_that_no_budget_admits_is_refused(loss: Any) -> None:
    """The odometer refuses a launch that no budget of its rule admits, and still reports."""
    odometer = OdomCon(ApproxDP, accumulator_of(Whitehouse2023("1/9"), ApproxDP, "1/9"))
    state, _ = begin(odometer, 1, SYSTEM)
    state, answer = advance(odometer, state, Launch(Response(2)), SYSTEM, 1)
    assert isinstance(answer, Launched)
    before = advance(odometer, state, PrivacyLossQuery(), SYSTEM, 2)[1]
    _, refused = advance(odometer, state, Launch(Response(2), loss), SYSTEM, 3)
    assert isinstance(refused, Refused)
    assert "no budget" in refused.reason
    assert before.delta == F(1, 9)
    assert not isinstance(before, Refused)


def test_a_rule_that_needs_a_positive_budget_has_an_accumulator() -> None:
    """Rogers' rule has no budget with epsilon 0, where the search starts."""
    account = accumulator_of(Rogers2016(), ApproxDP, "1/100").open().add(PureDP("1/100"))
    assert decides(Rogers2016(), account.total(), [PureDP("1/100")])


def test_accumulators_need_totally_ordered_budgets() -> None:
    """(epsilon, delta) budgets are totally ordered at a fixed delta only."""
    with pytest.raises(ValueError, match="fixed delta"):
        accumulator_of(Basic(), ApproxDP)
    with pytest.raises(ValueError, match="takes no delta"):
        accumulator_of(Basic(), PureDP, "1/10")
    with pytest.raises(ValueError, match="slack"):
        OdomCon(ApproxDP, accumulator_of(Whitehouse2023("1/9"), ApproxDP, "1/10"))


def test_the_adversaries_cover_every_case() -> None:
    """The wanderers meet both refusals, failures, live children and both dry-run results."""
    met: set[Any] = set()
    for seed in SEEDS:
        adversary = wanderer(seed, LAUNCHES, ("read", PrivacyLossQuery()), 7, INDUCED)
        for most in (1, 3, 5):
            for seen in view_law(FiltCon(FITS, max_mechanisms=most), 1, adversary):
                met.update(a.reason if isinstance(a, Refused) else type(a) for a in seen[1:])
                met.update(a for a in seen[1:] if isinstance(a, bool))
    reasons = {"insufficient budget", "at mechanism count limit"}
    assert {*reasons, Launched, Failed, PureDP, True, False} <= met
