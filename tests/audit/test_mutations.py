"""Deliberate faults in the real code; a law or an audit that the real code passes detects each.

A fault is a patch of a few lines. Its check also runs on the real compositors, in
`tests/laws/test_compositors.py` and `test_every_compositor.py`.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from typing import Any

import attrs
import numpy as np
import pytest
from flint import arb

from composition import (
    Blocks,
    ConComp,
    FiltCon,
    FiltSeq,
    Individual,
    Odom,
    OdomCon,
    Parallel,
)
from composition.compositors import adaptive, claims, grows
from composition.compositors.adaptive import AdaptiveComposition, CompositionState
from composition.compositors.blocks.register import BlockRegister
from composition.compositors.fixed import parallel
from composition.compositors.individual.accounts import Accounts
from composition.compositors.launching import Orders
from composition.rules.additive import AdditiveAccount
from composition.rules.slack import SlackAccount
from mechanisms import (
    Poisson,
    PrivateKeys,
    RandomizedResponse,
    SparseVector,
    Threshold,
    TruncatedNegativeBinomial,
    randomized_response,
    scripted,
    selection,
    thresholds,
)
from mechanisms import best as best_mechanism
from mechanisms.frugal import combined
from mechanisms.frugal.together import GaussiansTogether
from mechanisms.synthetic.graphical import GRID
from mechanisms.synthetic.scores import ComparedMarginal
from mechanisms.tables.engines.sql import found
from mechanisms.tables.growth import GrowingTable
from mechanisms.tables.records import TableRecords
from mechanisms.tables.statistics import discovered
from queryable import (
    GDP,
    Ask,
    CanAfford,
    Failed,
    FromMechanism,
    Launched,
    Measurement,
    PersonInTheMiddle,
    Postprocessed,
    PrivacyClaimError,
    PrivacyLossQuery,
    PureDP,
    QueryError,
    Refused,
    view,
)
from queryable.conversation import Drop, Moved, Node, Reported, Start, leaves
from queryable.conversation import running as conversations
from queryable.conversation.stepping import (
    advance,
    begin,
)
from queryable.data.growing import over, snapshot
from queryable.data.later import made
from queryable.losses import Dominated
from queryable.losses.conversions import log_up
from queryable.losses.numbers import round_down, round_up
from queryable.randomness.coins import SeededCoins
from queryable.randomness.laws import Bernoulli
from queryable.running import root
from queryable.streams.contributions import RecordsInMemory
from queryable.view import View
from tests.attacks import test_individual_neighbours as persons
from tests.attacks import test_parallel_streams as streams
from tests.attacks import test_sparse_vectors as sparse
from tests.audit import test_blocks as blocks
from tests.audit import test_discovered_keys as keys
from tests.audit import test_frugal as frugal
from tests.audit import test_synthetic as synthetic
from tests.audit.cases import CASES, SUCCESSIVE, Case
from tests.laws import compositors as laws
from tests.laws import growing
from tests.laws.growing import Taking
from tests.unit.mechanisms import test_best as best
from tests.unit.queryable.losses import test_dominated as dominated_losses

F = Fraction
Patch = Callable[[pytest.MonkeyPatch], None]
Check = Callable[[], object]


def law(check: Callable[[Any], None], build: Callable[[], Any]) -> Check:
    return lambda: check(build)


def filters() -> Any:
    return FiltCon(PureDP(1))


def odometers() -> Any:
    return OdomCon(PureDP)


FEW = attrs.evolve(CASES["FiltCon"], queries=SUCCESSIVE)
"""A case with fewer queries, which detects the faults here."""

FAULTS: dict[str, tuple[Patch, Check]] = {}
"""Each fault by name: its patch, and the check that detects it."""


def caught_by(check: Check) -> Callable[[Patch], Patch]:
    """Register a fault under its function's name."""

    def register(patch: Patch) -> Patch:
        FAULTS[patch.__name__.replace("_", " ")] = patch, check
        return patch

    return register


def last(talk: Any, told: Any) -> Any:
    """The result of a conversation that yields no more after what it is sent now."""
    try:
        talk.send(told)
    except StopIteration as end:
        return end.value
    raise AssertionError("it goes on")


# Data that grow.


def grown_otherwise(edit: Callable[..., Any]) -> Patch:
    """Replace the conversation about a batch by `edit(grow, self, own, message, live)`."""
    real = AdaptiveComposition._grow

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(AdaptiveComposition, "_grow", lambda *arguments: edit(real, *arguments))

    return patch


@caught_by(law(growing.a_child_that_is_not_continual_keeps_its_snapshot, filters))
def a_snapshot_child_sees_an_update(patch: pytest.MonkeyPatch) -> None:
    everybody = Taking(grows=True)
    grown_otherwise(
        lambda real, self, own, message, live: real(
            self, attrs.evolve(own, streams=None), message, dict.fromkeys(live, everybody)
        )
    )(patch)


@caught_by(law(growing.a_child_that_is_not_continual_keeps_its_snapshot, filters))
def a_continual_child_gets_no_update(patch: pytest.MonkeyPatch) -> None:
    grown_otherwise(lambda real, self, own, message, live: real(self, own, message, {}))(patch)


@caught_by(law(growing.an_analyst_sends_no_batch, filters))
def an_update_of_an_analyst_is_obeyed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(conversations, "OWNERS", ())


@caught_by(law(growing.a_batch_arrives_whole_or_not_at_all, filters))
def half_an_update_after_an_interrupt(patch: pytest.MonkeyPatch) -> None:
    for module in (leaves, root):
        patch.setattr(module, "is_interrupt", lambda fault: False)
    patch.setattr(leaves, "interrupted", lambda: False)


@caught_by(law(growing.batches_cost_nothing_and_are_not_shown, filters))
def an_update_answers(patch: pytest.MonkeyPatch) -> None:
    def edit(real: Any, self: Any, own: Any, message: Any, live: Any) -> Any:
        moved = yield from real(self, own, message, live)
        return moved._replace(answer=len(live))

    grown_otherwise(edit)(patch)


@caught_by(law(growing.batches_draw_from_the_coins_of_each_child, filters))
def batches_go_round_in_another_order_with_shared_coins(patch: pytest.MonkeyPatch) -> None:
    real = conversations.Run.__init__

    def init(self: Any, *arguments: Any, **options: Any) -> None:
        real(self, *arguments, **options)
        if self.atomic:
            self._coins = Together(self._coins)

    patch.setattr(conversations.Run, "__init__", init)

    def edit(real: Any, self: Any, own: Any, message: Any, live: Any) -> Any:
        growing = real(self, own, message, live)
        ready = yield next(growing)
        told = yield growing.send(ready)[::-1]
        return last(growing, told)

    grown_otherwise(edit)(patch)


@attrs.frozen
class Together:
    """Coins that all children share."""

    coins: Any

    def spawn(self, child: Any, message: int) -> Any:
        return self.coins


@caught_by(law(growing.a_child_that_is_not_continual_keeps_its_snapshot, filters))
def a_filter_does_not_grow(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(grows, "grown", lambda data, *others: data)


@caught_by(partial(streams.test_ours_refuses_batches, streams.ONE_RHO))
def a_careless_part_gets_batches(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(parallel, "keeps_its_claim", lambda *others: True)
    patch.setattr(Parallel, "require_growing", lambda self: None)


@caught_by(streams.test_a_pure_part_is_charged_by_conversion)
def a_pure_part_is_charged_its_own_zcdp(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        Parallel, "_map", lambda self, each, d_in, measure: each.privacy_map(d_in, measure)
    )


# The order of a launch.


def launched_otherwise(edit: Callable[..., Any]) -> Patch:
    """Replace the conversation about launches by `edit(launch, self, own, ordered)`."""
    real = AdaptiveComposition._launch

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(
            AdaptiveComposition, "_launch", lambda *arguments: edit(real, *arguments)
        )

    return patch


@caught_by(law(laws.nothing_runs_before_it_is_paid, filters))
def a_launch_runs_before_the_rule_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def edit(real: Any, self: Any, own: Any, ordered: Any) -> Any:
        yield [Start("early", ordered.orders[0].launch.mechanism, own.data), Drop(("early",))]
        return (yield from real(self, own, ordered))

    launched_otherwise(edit)(monkeypatch)


@caught_by(CASES["failures are paid"].keeps)
def a_failed_launch_is_not_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    def edit(real: Any, self: Any, own: Any, ordered: Any) -> Any:
        moved = yield from real(self, own, ordered)
        return moved._replace(state=own) if isinstance(moved.answer, Failed) else moved

    launched_otherwise(edit)(monkeypatch)


@caught_by(law(laws.a_refusal_leaves_no_trace, filters))
def a_refused_launch_uses_an_id(monkeypatch: pytest.MonkeyPatch) -> None:
    def declined(self: Any, own: Any, refusal: Any) -> Any:
        used = own.claims.set(len(own.claims), claims.Claim(None, PureDP(0)))  # type: ignore[arg-type]
        return attrs.evolve(own, claims=used), refusal

    monkeypatch.setattr(FiltCon, "_declined", declined)


@caught_by(law(laws.a_refusal_leaves_no_trace, filters))
def a_refusal_retires_live_children(monkeypatch: pytest.MonkeyPatch) -> None:
    def edit(real: Any, self: Any, own: Any, ordered: Any) -> Any:
        moved = yield from real(self, own, ordered)
        if isinstance(moved.answer, Refused):
            yield Drop()
        return moved

    launched_otherwise(edit)(monkeypatch)


def conversing_otherwise(edit: Callable[..., Any]) -> Patch:
    """Replace a conversation by `edit(converse, self, own, understood, live)`."""
    real = AdaptiveComposition.converse

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(
            AdaptiveComposition, "converse", lambda *arguments: edit(real, *arguments)
        )

    return patch


@caught_by(law(laws.a_dry_run_changes_nothing, filters))
def a_dry_run_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    real = AdaptiveComposition.understood

    def understood(self: Any, own: Any, query: Any, live: Any) -> Any:
        told = real(self, own, query, live)
        return True if isinstance(query, CanAfford) and told.answer else told

    def edit(real: Any, self: Any, own: Any, understood: Any, live: Any) -> Any:
        if understood is True:
            account = own.account.add(PureDP("1/100"))
            return Moved(attrs.evolve(own, account=account), True)
        return real(self, own, understood, live)

    monkeypatch.setattr(AdaptiveComposition, "understood", understood)
    conversing_otherwise(edit)(monkeypatch)


@caught_by(law(laws.no_id_is_used_twice, filters))
def ids_are_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each child has the number of those that are live as its id."""

    def edit(real: Any, self: Any, own: Any, understood: Any, live: Any) -> Any:
        talk = real(self, own, understood, live)
        return again(talk, len(live)) if isinstance(understood, Orders) else talk

    def again(talk: Any, identity: int) -> Any:
        told = yield [each._replace(identity=identity) for each in next(talk)]
        return last(talk, told)

    conversing_otherwise(edit)(monkeypatch)


@caught_by(law(laws.nothing_starts_anew, filters))
def the_empty_message_starts_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    real = AdaptiveComposition.understood

    def understood(self: Any, own: Any, query: Any, live: Any) -> Any:
        return query if query in ("", None, ()) else real(self, own, query, live)

    def edit(real: Any, self: Any, own: Any, understood: Any, live: Any) -> Any:
        return (
            anew(self, own) if understood in ("", None, ()) else real(self, own, understood, live)
        )

    def anew(self: Any, own: Any) -> Any:
        yield Drop()
        return self.open(own.data)

    monkeypatch.setattr(AdaptiveComposition, "understood", understood)
    conversing_otherwise(edit)(monkeypatch)


@caught_by(laws.every_launch_counts_toward_the_limit)
def measurements_do_not_count_toward_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def edit(real: Any, self: Any, own: Any, ordered: Any) -> Any:
        if isinstance(ordered.orders[0].launch.mechanism, Measurement):
            self = attrs.evolve(self, max_mechanisms=None)
        return real(self, own, ordered)

    launched_otherwise(edit)(monkeypatch)


@caught_by(law(laws.interactive_children_are_refused, lambda: Odom(PureDP)))
def an_odometer_of_measurements_takes_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Odom, "noninteractive", False)


@caught_by(laws.what_halted_stays_halted)
def a_halt_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    real = FiltCon._declined

    def declined(self: Any, state: Any, refusal: Any) -> Any:
        return state, real(self, state, refusal)[1]

    monkeypatch.setattr(FiltCon, "_declined", declined)


# Blocks of growing data.


@caught_by(blocks.nothing_is_read_before_it_is_paid)
def a_block_is_read_before_it_is_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Blocks._charged

    def charged(self: Any, own: Any, order: Any) -> Any:
        over(made(own.data.rows), [block.name for block in order.blocks])
        return real(self, own, order)

    monkeypatch.setattr(Blocks, "_charged", charged)


@caught_by(blocks.STREAMS["records that arrive later"].keeps)
def an_update_is_charged_to_no_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch over some blocks reads all records."""
    all_records = lambda dataset, _: dataset.whole  # noqa: E731
    monkeypatch.setattr("composition.compositors.blocks.blocks.over", all_records)


@caught_by(blocks.STREAMS["pure, of a launch"].keeps)
def only_the_last_of_several_blocks_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    real = BlockRegister.charged
    monkeypatch.setattr(
        BlockRegister, "charged", lambda self, blocks, steps: real(self, blocks[-1:], steps[-1:])
    )


@caught_by(blocks.STREAMS["pure, of a launch"].keeps)
def one_block_that_can_pay_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Blocks._refusal

    def refusal(self: Any, state: Any, order: Any, steps: Any) -> Any:
        return None if any(step.within for step in steps) else real(self, state, order, steps)

    monkeypatch.setattr(Blocks, "_refusal", refusal)


# What is charged.


@caught_by(FEW.keeps)
def the_budget_is_off_by_one_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    real = FiltCon._exceeds
    monkeypatch.setattr(
        FiltCon, "_exceeds", lambda self, account, _, loss: real(self, account, account, loss)
    )


@caught_by(law(laws.a_budget_is_exact, filters))
def a_budget_is_kept_to_within_a_billionth(monkeypatch: pytest.MonkeyPatch) -> None:
    def within(self: Any) -> bool:
        return all(
            float(spent) <= float(most) + 1e-9
            for spent, most in zip(self.sum.parts, self.most, strict=True)
        )

    monkeypatch.setattr(AdditiveAccount, "within", property(within))


@caught_by(CASES["FiltCon, approximate"].keeps)
def deltas_are_not_added(monkeypatch: pytest.MonkeyPatch) -> None:
    within = property(lambda self: self.sum.parts[0] <= self.most[0])
    monkeypatch.setattr(AdditiveAccount, "within", within)


@caught_by(CASES["deltas beside a slack"].keeps)
def deltas_beside_a_slack_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    within = property(lambda self: self.weight <= self.capacity)
    monkeypatch.setattr(SlackAccount, "within", within)


def claimed_otherwise(edit: Callable[..., Any]) -> Patch:
    """Replace the check of a claim by `edit(claim_of, launch, measure, d_in, **options)`."""
    real = claims.claim_of

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(
            adaptive, "claim_of", lambda *arguments, **options: edit(real, *arguments, **options)
        )

    return patch


@caught_by(FEW.keeps)
def half_the_loss_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    def edit(real: Any, *arguments: Any, **options: Any) -> Any:
        found = real(*arguments, **options)
        return attrs.evolve(found, loss=PureDP(found.loss.epsilon / 2))

    claimed_otherwise(edit)(monkeypatch)


@caught_by(law(laws.a_claim_below_the_map_is_refused, filters))
def a_claim_below_the_map_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    def edit(real: Any, launch: Any, *arguments: Any, **options: Any) -> Any:
        try:
            return real(launch, *arguments, **options)
        except PrivacyClaimError:
            return claims.Claim(launch.mechanism, launch.d_out)

    claimed_otherwise(edit)(monkeypatch)


@caught_by(CASES["two records"].keeps)
def a_launch_is_charged_for_one_record(monkeypatch: pytest.MonkeyPatch) -> None:
    def edit(real: Any, launch: Any, measure: Any, d_in: int, **options: Any) -> Any:
        return real(launch, measure, 1, **options)

    claimed_otherwise(edit)(monkeypatch)


@caught_by(CASES["a budget for one record, at two"].keeps)
def a_budget_is_claimed_for_any_number_of_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FiltCon, "loss", lambda self, d_in: self.budget)


@caught_by(CASES["nested filters"].keeps)
def a_filter_within_a_filter_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    def edit(real: Any, launch: Any, *arguments: Any, **options: Any) -> Any:
        found = real(launch, *arguments, **options)
        free = isinstance(launch.mechanism, FiltCon)
        return attrs.evolve(found, loss=found.loss.zero()) if free else found

    claimed_otherwise(edit)(monkeypatch)


@caught_by(CASES["an odometer launched as a filter"].keeps)
def an_odometer_is_launched_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def edit(real: Any, launch: Any, *arguments: Any, **options: Any) -> Any:
        found = real(launch, *arguments, **options)
        return attrs.evolve(found, mechanism=launch.mechanism)

    claimed_otherwise(edit)(monkeypatch)


# What is reported.


@caught_by(CASES["OdomCon"].keeps)
def a_report_lags_one_launch_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def lagging(self: Any, state: CompositionState, d_in: Any) -> Any:
        account = self._opened()
        for identity in range(len(state.claims) - 1):
            account = account.add(state.claims[identity].loss)
        return account.total()

    monkeypatch.setattr(OdomCon, "_privacy_loss", lagging)


@caught_by(law(laws.a_report_counts_every_launch, odometers))
def a_report_counts_live_children_only(monkeypatch: pytest.MonkeyPatch) -> None:
    real = AdaptiveComposition.understood

    def understood(self: Any, own: Any, query: Any, live: Any) -> Any:
        if not isinstance(query, PrivacyLossQuery):
            return real(self, own, query, live)
        account = self._opened()
        for child in live:
            account = account.add(own.claims[child].loss)
        return Reported(account.total())

    monkeypatch.setattr(AdaptiveComposition, "understood", understood)


@caught_by(laws.a_truncated_view_drops_the_answer_that_crosses)
def truncation_reads_the_report_of_the_old_state(monkeypatch: pytest.MonkeyPatch) -> None:
    def as_printed(odometer: Any, data: Any, adversary: Any, threshold: Any, coins: Any) -> View:
        state, opening = begin(odometer, data, coins)
        seen = View(opening)
        while (query := adversary(seen)) is not None:
            if not advance(odometer, state, PrivacyLossQuery(), coins, 0)[1] <= threshold:
                break
            state, answer = advance(odometer, state, query, coins, 0)
            seen = seen.then(query, answer)
        return seen

    monkeypatch.setattr(view, "truncated_view", as_printed)


# Children.


def settled_otherwise(edit: Callable[..., Any]) -> Patch:
    """Replace the children after an `Ask` by `edit(before, after, identity)`."""
    real = conversations.Run.__call__

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        def call(self: Any) -> Any:
            moved = real(self)
            if not isinstance(self._message, Ask):
                return moved
            own, after = moved.state
            after = edit(self.node.children, after, self._message.child)
            return moved._replace(state=Node(own, after))

        monkeypatch.setattr(conversations.Run, "__call__", call)

    return patch


@caught_by(law(laws.siblings_do_not_disturb_each_other, filters))
def siblings_share_their_state(monkeypatch: pytest.MonkeyPatch) -> None:
    def edit(_: Any, after: Any, identity: Any) -> Any:
        for sibling, child in after.items():
            after = after.set(sibling, child._replace(state=after[identity].state))
        return after

    settled_otherwise(edit)(monkeypatch)


@caught_by(law(laws.siblings_do_not_disturb_each_other, odometers))
def siblings_draw_the_same_coins(monkeypatch: pytest.MonkeyPatch) -> None:
    real = SeededCoins.spawn
    monkeypatch.setattr(SeededCoins, "spawn", lambda self, _, message: real(self, 0, message))


@caught_by(law(laws.siblings_do_not_disturb_each_other, filters))
def a_child_draws_the_same_coins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def edit(_: Any, after: Any, identity: Any) -> Any:
        return after.set(identity, after[identity]._replace(messages=1))

    settled_otherwise(edit)(monkeypatch)


@caught_by(law(laws.a_launch_retires_earlier_children, lambda: FiltSeq(PureDP(1))))
def a_retired_child_still_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FiltSeq, "interleaves", True)


@caught_by(law(laws.a_failure_says_nothing_and_ends_the_child, filters))
def a_failed_child_lives_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def edit(before: Any, after: Any, identity: Any) -> Any:
        return after if identity in after else before

    settled_otherwise(edit)(monkeypatch)


@caught_by(law(laws.a_failure_says_nothing_and_ends_the_child, filters))
def the_text_of_a_fault_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    real = leaves.read

    def told(step: Any, mechanism: Any, state: Any, coins: Any) -> Any:
        moved, fault = real(step, mechanism, state, coins)
        if fault is None or isinstance(fault, QueryError):
            return moved, fault
        return Moved(state, str(fault.__context__ or fault)), None

    monkeypatch.setattr(leaves, "read", told)


@caught_by(law(laws.ids_are_no_booleans, filters))
def false_is_the_child_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    real = AdaptiveComposition.understood

    def understood(self: Any, own: Any, query: Any, live: Any) -> Any:
        if isinstance(query, Ask):
            query = attrs.evolve(query, child=+query.child)
        return real(self, own, query, live)

    monkeypatch.setattr(AdaptiveComposition, "understood", understood)


# Claims of other compositors and mechanisms.


@caught_by(CASES["ConComp"].keeps)
def concurrent_mechanisms_lose_what_the_worst_loses(monkeypatch: pytest.MonkeyPatch) -> None:
    def largest(self: Any, d_in: int, measure: Any = None) -> Any:
        return max(
            (each.privacy_map(d_in) for each in self.mechanisms), key=lambda loss: loss.parts
        )

    monkeypatch.setattr(ConComp, "privacy_map", largest)


@caught_by(CASES["Parallel, two records, flat maps"].keeps)
def parts_lose_what_the_worst_loses_at_two_records(monkeypatch: pytest.MonkeyPatch) -> None:
    def largest(curves: Any, coordinate: int, d_in: int) -> Any:
        return max(curve[d_in][coordinate] for curve in curves)

    monkeypatch.setattr(parallel, "supremum", largest)


@caught_by(CASES["a person"].keeps)
def a_person_peeks_at_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Postprocessed.open

    def open_(self: Any, data: Any) -> Any:
        seen = attrs.evolve(self, person=Peeking(self.person, bool(snapshot(made(data.rows)))))
        return real(seen, data)

    monkeypatch.setattr(Postprocessed, "open", open_)


@attrs.frozen
class Peeking(PersonInTheMiddle[Any]):
    """A person who keeps another state than its own, once its mechanism has answered."""

    person: Any
    seen: Any

    def init(self) -> Any:
        return self.person.init()

    def step(self, state: Any, message: Any, coins: Any) -> Any:
        state, reply = self.person.step(state, message, coins)
        return (self.seen if isinstance(message, FromMechanism) else state), reply


@caught_by(CASES["RandomizedResponse"].keeps)
def a_loss_is_rounded_down(monkeypatch: pytest.MonkeyPatch) -> None:
    down = lambda odds: round_down(arb.log, odds)  # noqa: E731
    assert log_up(F(7, 3)) - down(F(7, 3)) < F(1, 10**25)
    monkeypatch.setattr(randomized_response, "log_up", down)


@caught_by(CASES["RandomizedResponse with delta"].keeps)
def a_bit_is_revealed_twice_as_often(monkeypatch: pytest.MonkeyPatch) -> None:
    real = RandomizedResponse.release

    def release(self: Any, dataset: Any, coins: Any) -> Any:
        if self.delta and coins.draw(Bernoulli(self.delta)):
            return randomized_response.Revealed(self.bit(dataset))
        return real(self, dataset, coins)

    monkeypatch.setattr(RandomizedResponse, "release", release)


@caught_by(partial(sparse.test_ours_is_not_refuted_by_queries_that_move_both_ways, 1, False))
def a_sparse_vector_forgets_which_way_queries_move(monkeypatch: pytest.MonkeyPatch) -> None:
    real = sparse.FiniteToday._query_noise
    less = sparse.lumped(sparse.F(1, 4), -9, 9)
    monkeypatch.setattr(
        sparse.FiniteToday,
        "_query_noise",
        lambda self, moves: real(self, moves) if moves in ("up", "down") else less,
    )


@caught_by(partial(sparse.test_ours_is_not_refuted, 1, 6, 0, 1))
def a_sparse_vector_goes_on_after_its_cutoff(monkeypatch: pytest.MonkeyPatch) -> None:
    real = SparseVector.step

    def step(self: Any, state: Any, query: Any, coins: Any) -> Any:
        after, answer = real(self, state, query, coins)
        return (state if answer is True else after), answer

    monkeypatch.setattr(SparseVector, "step", step)


# Accounts of records.


def charging(patch: pytest.MonkeyPatch, wrong: Callable[..., Any]) -> None:
    """Replace how records are charged by a function of the right way, the accounts and a charge."""
    real = Accounts.charged
    patch.setattr(Accounts, "charged", lambda *args: wrong(lambda: real(*args), *args))


@caught_by(CASES["Individual, with a rest that pays for nothing"].keeps)
def a_record_is_charged_after_the_answer(patch: pytest.MonkeyPatch) -> None:
    def wrong(real: Any, accounts: Any, share: Any, squares: Any = 1) -> Any:
        units = accounts._divided(share.denominator)
        spent = accounts.spent * (units // accounts.units)
        active = spent < units  # as if this launch cost nothing yet
        return active, Accounts(spent + active * squares * int(share * units), units)

    charging(patch, wrong)


@caught_by(CASES["Individual"].keeps)
def who_takes_part_depends_on_other_records(patch: pytest.MonkeyPatch) -> None:
    def wrong(real: Any, *args: Any) -> Any:
        active, accounts = real()
        return active & active.all(), accounts

    charging(patch, wrong)


@caught_by(CASES["Individual"].keeps)
def a_refusal_shows_that_a_record_has_left(patch: pytest.MonkeyPatch) -> None:
    real = Individual._ran

    def ran(self: Any, own: Any, due: Any, moved: Any) -> Any:
        own, answer = real(self, own, due, moved)
        data, records = made(due.data.rows), made(due.books).records
        left = data is not None and len(data[0]) < records.count
        return own, Refused("a record has left") if left else answer

    patch.setattr(Individual, "_ran", ran)


@caught_by(CASES["Individual"].keeps)
def a_child_reads_records_that_did_not_pay(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(RecordsInMemory, "among", lambda self, active: self.readable)


@caught_by(CASES["Individual"].keeps)
def a_child_costs_a_record_what_it_adds(patch: pytest.MonkeyPatch) -> None:
    def wrong(real: Any, accounts: Any, share: Any, squares: Any = 0) -> Any:
        return REAL_CHARGE(accounts, share, squares)

    charging(patch, wrong)


REAL_CHARGE = Accounts.charged


@caught_by(partial(persons.test_no_record_costs_more_than_its_budget, "arrays", 8))
def a_record_pays_for_being_counted_and_not_for_what_it_adds(patch: pytest.MonkeyPatch) -> None:
    def wrong(real: Any, accounts: Any, share: Any, squares: Any = 1) -> Any:
        return REAL_CHARGE(accounts, share, np.asarray(squares) > 0)

    charging(patch, wrong)


@caught_by(partial(persons.test_no_record_costs_more_than_its_budget, "units in groups", 1))
def a_person_pays_as_one_row(patch: pytest.MonkeyPatch) -> None:
    real = TableRecords.contributions

    def contributions(self: Any, request: Any) -> Any:
        added = real(self, request)
        return attrs.evolve(added, squares=np.minimum(added.squares, 1))

    patch.setattr(TableRecords, "contributions", contributions)


@caught_by(CASES["Individual"].keeps)
def the_number_of_active_records_is_told(patch: pytest.MonkeyPatch) -> None:
    real = Individual._ran

    def ran(self: Any, own: Any, due: Any, moved: Any) -> Any:
        own, answer = real(self, own, due, moved)
        if isinstance(answer, Launched):
            accounts = made(own.books).accounts
            answer = attrs.evolve(answer, answer=(answer.answer, int(accounts.spent.sum())))
        return own, answer

    patch.setattr(Individual, "_ran", ran)


@caught_by(partial(persons.test_no_record_costs_more_if_the_data_grow, "arrays", 1))
def a_batch_gives_everybody_a_new_budget(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Accounts, "among", lambda self, records: Accounts.of(records))


@caught_by(partial(persons.test_no_record_costs_more_if_the_data_grow, "arrays", 1))
def records_that_arrive_get_the_accounts_of_others(patch: pytest.MonkeyPatch) -> None:
    def wrong(self: Any, records: int) -> Any:
        more = np.zeros(records - len(self.spent), dtype=np.int64)
        return Accounts(np.concatenate([more, self.spent]), self.units)

    patch.setattr(Accounts, "among", wrong)


@caught_by(partial(persons.test_no_record_costs_more_if_the_data_grow, "units", 1))
def persons_are_numbered_anew_when_rows_arrive(patch: pytest.MonkeyPatch) -> None:
    real = GrowingTable.records
    patch.setattr(GrowingTable, "records", lambda self, earlier=None: real(self))


@caught_by(synthetic.test_the_choice_keeps_its_claim)
def a_distance_is_said_to_move_half_as_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        ComparedMarginal,
        "sensitivity",
        property(lambda self: self.weight * GRID * self.marginal.l1 / 2),
    )


# Keys that are found in the data.


@caught_by(CASES["DiscoveredKeys"].keeps)
def a_key_is_shown_one_below_its_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = discovered.places_shown
    monkeypatch.setattr(discovered, "places_shown", lambda noisy, t: shown(noisy, t - 1))


@caught_by(partial(keys.test_the_claim_is_exact, keys.GAUSSIAN, 1))
def a_key_at_its_threshold_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovered, "places_shown", lambda noisy, t: np.flatnonzero(noisy > t))


@caught_by(CASES["DiscoveredKeys"].keeps)
def delta_is_that_of_keys_above_the_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    real = discovered.shown_by
    monkeypatch.setattr(discovered, "shown_by", lambda noise, t, *rest: real(noise, t + 1, *rest))


@caught_by(CASES["DiscoveredKeys"].keeps)
def delta_is_that_of_continuous_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    half = lambda scale, m: (-m / scale).exp() / 2  # noqa: E731

    def at_least(noise: Any, least: int) -> tuple[F, F]:
        return round_down(half, noise.scale, least), round_up(half, noise.scale, least)

    monkeypatch.setattr(thresholds, "at_least", at_least)


@caught_by(lambda: keys.the_claim_holds(keys.LAPLACE, 2, keys.TWO[:1]))
def delta_is_that_of_one_key(monkeypatch: pytest.MonkeyPatch) -> None:
    real = discovered.shown_by
    monkeypatch.setattr(discovered, "shown_by", lambda noise, t, k, d=1: real(noise, t, 1, d))


@caught_by(partial(keys.test_two_units_lose_at_most_the_group_bound, keys.LAPLACE, 1))
def two_units_have_twice_the_delta_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    real = discovered.shown_by
    monkeypatch.setattr(discovered, "shown_by", lambda noise, t, k, d=1: d * real(noise, t, k))


@caught_by(partial(keys.test_gaussians_beside_a_smoothed_one, 1))
def keys_beside_a_smoothed_gaussian_have_no_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is stated for it, in Dominated; their own delta stays as it is."""
    real = PrivateKeys.privacy_map

    def wrong(self: Any, d_in: int, measure: Any = None) -> Any:
        loss: Any = real(self, d_in, measure)
        if measure is not Dominated:
            return loss
        return Dominated(0, loss.mu, discovered.smoothed(F(d_in), F(5), d_in).delta)

    monkeypatch.setattr(PrivateKeys, "privacy_map", wrong)


@caught_by(keys.test_a_unit_is_counted_in_so_many_keys_on_its_own_account)
def a_unit_is_counted_in_all_of_its_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    real = found._of_units
    monkeypatch.setattr(
        found, "_of_units", lambda rows, by, most, choice: real(rows, by, 99, choice)
    )


# A frugal person.


@caught_by(frugal.combinations_lose_what_they_claim)
def combinations_are_charged_by_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        combined,
        "largest_square",
        lambda factor: max(sum(each * each for each in row) for row in factor),
    )


@caught_by(partial(frugal.test_a_stream_loses_what_is_charged, ()))
def launches_together_are_charged_as_the_dearest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        GaussiansTogether,
        "loss",
        lambda self, d_in: max((each.loss(d_in) for each in self.parts), key=lambda z: z.rho),
    )


# Losses with several parts.


@caught_by(lambda: dominated_losses.three_sources_are_bounded("2", "1", "1e-3"))
def a_converted_loss_forgets_its_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Dominated, "_to", lambda self, measure, delta: GDP(self.mu).to(measure, delta - self.delta)
    )


@caught_by(lambda: dominated_losses.three_sources_are_bounded("0", "1", "1e-9"))
def a_converted_loss_spends_its_delta_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Dominated, "_to", lambda self, *given: GDP(self.mu).to(*given))


# Private selection.


@caught_by(CASES["Best, most of many runs"].keeps)
def private_selection_forgets_eta(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TruncatedNegativeBinomial, "exponent", F(1))


@caught_by(best.a_rare_best_run_is_bounded)
def private_selection_forgets_the_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "log_mean", lambda law: F(0))


@caught_by(CASES["Best, Poisson"].keeps)
def poisson_repetitions_are_charged_as_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    real = selection.pure_of

    def pure_of(law: Any, pure: F) -> F:
        return pure if isinstance(law, Poisson) else real(law, pure)

    monkeypatch.setattr(best_mechanism, "pure_of", pure_of)


@caught_by(CASES["Best, Threshold"].keeps)
def a_threshold_is_charged_as_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Threshold, "exponent", F(0))


@caught_by(CASES["Scripted, that fails"].keeps)
def a_script_tells_where_it_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The data's bit decides which of two texts is told."""
    real = scripted.Scripted.release

    def release(self: Any, dataset: Any, coins: Any) -> Any:
        try:
            return real(self, dataset, coins)
        except QueryError as error:
            return f"{error} {dataset}"

    monkeypatch.setattr(scripted.Scripted, "release", release)


@cache
def passes(check: Check) -> None:
    """Run a check on the real code, once for all faults that it should detect.

    Other tests run the cases of compositors and blocks on the real code, and a check that is itself
    a test runs there, so these are not run twice.
    """
    test = getattr(check, "func", check).__name__.startswith("test_")  # alone, or with arguments
    if not test and not any(getattr(check, "__self__", None) is case for case in ON_REAL_CODE):
        check()


ON_REAL_CODE: list[Case | blocks.Stream] = [
    *CASES.values(),  # test_every_compositor.py
    *(case for name, case in blocks.STREAMS.items() if name not in blocks.SLOW),  # test_blocks.py
]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check passes on the real code and fails on the broken code."""
    patch, check = FAULTS[fault]
    passes(check)
    patch(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check()


def test_there_are_many() -> None:
    """No two faults share a name."""
    assert len(FAULTS) >= 35
