"""Deliberate faults in the real code; a law or an audit that the real code passes detects each.

A fault is a patch of a few lines. Its check also runs on the real compositors, in
`tests/laws/test_compositors.py` and `test_every_compositor.py`.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache, partial
from typing import Any

import attrs
import numpy as np
import pytest
from flint import arb

from composition import Blocks, ConComp, FiltCon, FiltSeq, Individual, Odom, OdomCon, Parallel
from composition.compositors import adaptive, claims, grows
from composition.compositors.adaptive import AdaptiveComposition
from composition.compositors.blocks import blocks as blocks_module
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
from mechanisms.frugal.joint_launch import GaussiansTogether
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
from queryable.conversation.stepping import advance, begin
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
from tests.attacks import test_individual as persons
from tests.attacks import test_parallel as streams
from tests.attacks import test_sparse_vectors as sparse
from tests.audit import test_blocks as blocks
from tests.audit import test_discovered_keys as keys
from tests.audit import test_mechanisms as audits
from tests.audit.cases import CASES, SUCCESSIVE, Case
from tests.audit.faults import Check, Faults, replace
from tests.laws import compositors as laws
from tests.laws import growing
from tests.laws.growing import Taking
from tests.unit.mechanisms import test_best as best
from tests.unit.queryable.losses import test_dominated as dominated_losses

F = Fraction


def law(check: Callable[[Any], None], build: Callable[[], Any]) -> Check:
    return lambda: check(build)


def filters() -> Any:
    return FiltCon(PureDP(1))


def odometers() -> Any:
    return OdomCon(PureDP)


FEW = attrs.evolve(CASES["FiltCon"], queries=SUCCESSIVE)
"""A case with fewer queries, which detects the faults here."""

FAULTS = Faults()
caught_by, instead, value = FAULTS.caught_by, FAULTS.instead, FAULTS.value


def last(talk: Any, told: Any) -> Any:
    """The result of a conversation that yields no more after what it is sent now."""
    try:
        talk.send(told)
    except StopIteration as end:
        return end.value
    raise AssertionError("it goes on")


# Data that grow.

SNAPSHOT = law(growing.a_child_that_is_not_continual_keeps_its_snapshot, filters)

value("a filter does not grow", SNAPSHOT, grows, "grown", lambda data, *others: data)
value(
    "an update of an analyst is obeyed",
    law(growing.an_analyst_sends_no_batch, filters),
    *(conversations, "OWNERS", ()),
)


@instead(SNAPSHOT, AdaptiveComposition, "_grow")
def a_snapshot_child_sees_an_update(real: Any, self: Any, own: Any, message: Any, live: Any) -> Any:
    everybody = dict.fromkeys(live, Taking(grows=True))
    return real(self, attrs.evolve(own, streams=None), message, everybody)


@instead(SNAPSHOT, AdaptiveComposition, "_grow")
def a_continual_child_gets_no_update(real: Any, self: Any, own: Any, message: Any, _: Any) -> Any:
    return real(self, own, message, {})


@caught_by(law(growing.a_batch_arrives_whole_or_not_at_all, filters))
def half_an_update_after_an_interrupt(patch: pytest.MonkeyPatch) -> None:
    for module in (leaves, root):
        patch.setattr(module, "is_interrupt", lambda fault: False)
    patch.setattr(leaves, "interrupted", lambda: False)


@instead(law(growing.batches_cost_nothing_and_are_not_shown, filters), AdaptiveComposition, "_grow")
def an_update_answers(real: Any, self: Any, own: Any, message: Any, live: Any) -> Any:
    moved = yield from real(self, own, message, live)
    return moved._replace(answer=len(live))


@caught_by(law(growing.batches_draw_from_the_coins_of_each_child, filters))
def batches_go_round_in_another_order_with_shared_coins(patch: pytest.MonkeyPatch) -> None:
    def init(real: Any, self: Any, *arguments: Any, **options: Any) -> None:
        real(self, *arguments, **options)
        if self.atomic:
            self._coins = Together(self._coins)

    def grow(real: Any, self: Any, own: Any, message: Any, live: Any) -> Any:
        growing = real(self, own, message, live)
        ready = yield next(growing)
        told = yield growing.send(ready)[::-1]
        return last(growing, told)

    replace(patch, conversations.Run, "__init__", init)
    replace(patch, AdaptiveComposition, "_grow", grow)


@attrs.frozen
class Together:
    """Coins that all children share."""

    coins: Any

    def spawn(self, child: Any, message: int) -> Any:
        return self.coins


@caught_by(partial(streams.test_ours_refuses_batches, streams.ONE_RHO))
def a_careless_part_gets_batches(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(parallel, "keeps_its_claim", lambda *others: True)
    patch.setattr(Parallel, "require_growing", lambda self: None)


@instead(streams.test_a_pure_part_is_charged_by_conversion, Parallel, "_map")
def a_pure_part_is_charged_its_own_zcdp(_: Any, self: Any, each: Any, *given: Any) -> Any:
    return each.privacy_map(*given)


# The order of a launch.

value(
    "an odometer of measurements takes all",
    law(laws.interactive_children_are_refused, lambda: Odom(PureDP)),
    *(Odom, "noninteractive", False),
)


@instead(law(laws.nothing_runs_before_it_is_paid, filters), AdaptiveComposition, "_launch")
def a_launch_runs_before_the_rule_is_asked(real: Any, self: Any, own: Any, ordered: Any) -> Any:
    yield [Start("early", ordered.orders[0].launch.mechanism, own.data), Drop(("early",))]
    return (yield from real(self, own, ordered))


@instead(CASES["failures are paid"].keeps, AdaptiveComposition, "_launch")
def a_failed_launch_is_not_charged(real: Any, self: Any, own: Any, ordered: Any) -> Any:
    moved = yield from real(self, own, ordered)
    return moved._replace(state=own) if isinstance(moved.answer, Failed) else moved


@instead(law(laws.a_refusal_leaves_no_trace, filters), FiltCon, "_declined")
def a_refused_launch_uses_an_id(_: Any, self: Any, own: Any, refusal: Any) -> Any:
    used = own.claims.set(len(own.claims), claims.Claim(None, PureDP(0)))  # type: ignore[arg-type]
    return attrs.evolve(own, claims=used), refusal


@instead(law(laws.a_refusal_leaves_no_trace, filters), AdaptiveComposition, "_launch")
def a_refusal_retires_live_children(real: Any, self: Any, own: Any, ordered: Any) -> Any:
    moved = yield from real(self, own, ordered)
    if isinstance(moved.answer, Refused):
        yield Drop()
    return moved


@caught_by(law(laws.a_dry_run_changes_nothing, filters))
def a_dry_run_is_charged(patch: pytest.MonkeyPatch) -> None:
    def understood(real: Any, self: Any, own: Any, query: Any, live: Any) -> Any:
        told = real(self, own, query, live)
        return True if isinstance(query, CanAfford) and told.answer else told

    def converse(real: Any, self: Any, own: Any, understood: Any, live: Any) -> Any:
        if understood is True:
            account = own.account.add(PureDP("1/100"))
            return Moved(attrs.evolve(own, account=account), True)
        return real(self, own, understood, live)

    replace(patch, AdaptiveComposition, "understood", understood)
    replace(patch, AdaptiveComposition, "converse", converse)


@instead(law(laws.no_id_is_used_twice, filters), AdaptiveComposition, "converse")
def ids_are_used_again(real: Any, self: Any, own: Any, understood: Any, live: Any) -> Any:
    """Each child has the number of those that are live as its id."""
    talk = real(self, own, understood, live)

    def again() -> Any:
        told = yield [each._replace(identity=len(live)) for each in next(talk)]
        return last(talk, told)

    return again() if isinstance(understood, Orders) else talk


@caught_by(law(laws.nothing_starts_anew, filters))
def the_empty_message_starts_anew(patch: pytest.MonkeyPatch) -> None:
    def understood(real: Any, self: Any, own: Any, query: Any, live: Any) -> Any:
        return query if query in ("", None, ()) else real(self, own, query, live)

    def converse(real: Any, self: Any, own: Any, understood: Any, live: Any) -> Any:
        empty = understood in ("", None, ())
        return anew(self, own) if empty else real(self, own, understood, live)

    def anew(self: Any, own: Any) -> Any:
        yield Drop()
        return self.open(own.data)

    replace(patch, AdaptiveComposition, "understood", understood)
    replace(patch, AdaptiveComposition, "converse", converse)


@instead(laws.every_launch_counts_toward_the_limit, AdaptiveComposition, "_launch")
def measurements_do_not_count_toward_the_limit(real: Any, self: Any, own: Any, orders: Any) -> Any:
    if isinstance(orders.orders[0].launch.mechanism, Measurement):
        self = attrs.evolve(self, max_mechanisms=None)
    return real(self, own, orders)


@instead(laws.what_halted_stays_halted, FiltCon, "_declined")
def a_halt_is_forgotten(real: Any, self: Any, state: Any, refusal: Any) -> Any:
    return state, real(self, state, refusal)[1]


# Blocks of growing data.


@instead(blocks.nothing_is_read_before_it_is_paid, Blocks, "_charged")
def a_block_is_read_before_it_is_paid(real: Any, self: Any, own: Any, order: Any) -> Any:
    over(made(own.data.rows), [block.name for block in order.blocks])
    return real(self, own, order)


@instead(blocks.STREAMS["records that arrive later"].keeps, blocks_module, "over")
def an_update_is_charged_to_no_block(_: Any, dataset: Any, names: Any) -> Any:
    """A launch over some blocks reads all records."""
    return dataset.whole


@instead(blocks.STREAMS["pure, of a launch"].keeps, BlockRegister, "charged")
def only_the_last_of_several_blocks_is_charged(real: Any, self: Any, of: Any, steps: Any) -> Any:
    return real(self, of[-1:], steps[-1:])


@instead(blocks.STREAMS["pure, of a launch"].keeps, Blocks, "_refusal")
def one_block_that_can_pay_is_enough(real: Any, self: Any, own: Any, order: Any, steps: Any) -> Any:
    return None if any(step.within for step in steps) else real(self, own, order, steps)


# What is charged.

value(
    "deltas are not added",
    CASES["FiltCon, approximate"].keeps,
    *(AdditiveAccount, "within", property(lambda self: self.sum.parts[0] <= self.most[0])),
)
value(
    "deltas beside a slack are forgotten",
    CASES["deltas beside a slack"].keeps,
    *(SlackAccount, "within", property(lambda self: self.weight <= self.capacity)),
)
value(
    "a budget is claimed for any number of records",
    CASES["a budget for one record, at two"].keeps,
    *(FiltCon, "loss", lambda self, d_in: self.budget),
)


@instead(FEW.keeps, FiltCon, "_exceeds")
def the_budget_is_off_by_one_launch(real: Any, self: Any, account: Any, _: Any, loss: Any) -> Any:
    return real(self, account, account, loss)


@caught_by(law(laws.a_budget_is_exact, filters))
def a_budget_is_kept_to_within_a_billionth(patch: pytest.MonkeyPatch) -> None:
    def within(self: Any) -> bool:
        pairs = zip(self.sum.parts, self.most, strict=True)
        return all(float(spent) <= float(most) + 1e-9 for spent, most in pairs)

    patch.setattr(AdditiveAccount, "within", property(within))


@instead(FEW.keeps, adaptive, "claim_of")
def half_the_loss_is_charged(real: Any, *arguments: Any, **options: Any) -> Any:
    found = real(*arguments, **options)
    return attrs.evolve(found, loss=PureDP(found.loss.epsilon / 2))


@instead(law(laws.a_claim_below_the_map_is_refused, filters), adaptive, "claim_of")
def a_claim_below_the_map_is_believed(real: Any, launch: Any, *rest: Any, **options: Any) -> Any:
    try:
        return real(launch, *rest, **options)
    except PrivacyClaimError:
        return claims.Claim(launch.mechanism, launch.d_out)


@instead(CASES["two records"].keeps, adaptive, "claim_of")
def a_launch_is_charged_for_one_record(
    real: Any, launch: Any, measure: Any, d_in: int, **options: Any
) -> Any:
    return real(launch, measure, 1, **options)


@instead(CASES["nested filters"].keeps, adaptive, "claim_of")
def a_filter_within_a_filter_is_free(real: Any, launch: Any, *rest: Any, **options: Any) -> Any:
    found = real(launch, *rest, **options)
    free = isinstance(launch.mechanism, FiltCon)
    return attrs.evolve(found, loss=found.loss.zero()) if free else found


@instead(CASES["an odometer launched as a filter"].keeps, adaptive, "claim_of")
def an_odometer_is_launched_as_it_is(real: Any, launch: Any, *rest: Any, **options: Any) -> Any:
    return attrs.evolve(real(launch, *rest, **options), mechanism=launch.mechanism)


# What is reported.


def reported(self: Any, own: Any, children: Iterable[Any]) -> Any:
    """The total of what these children cost."""
    account = self._opened()
    for child in children:
        account = account.add(own.claims[child].loss)
    return account.total()


@instead(CASES["OdomCon"].keeps, OdomCon, "_privacy_loss")
def a_report_lags_one_launch_behind(_: Any, self: Any, own: Any, d_in: Any) -> Any:
    return reported(self, own, range(len(own.claims) - 1))


@instead(law(laws.a_report_counts_every_launch, odometers), AdaptiveComposition, "understood")
def a_report_counts_live_children_only(
    real: Any, self: Any, own: Any, query: Any, live: Any
) -> Any:
    if not isinstance(query, PrivacyLossQuery):
        return real(self, own, query, live)
    return Reported(reported(self, own, live))


@instead(laws.a_truncated_view_drops_the_answer_that_crosses, view, "truncated_view")
def truncation_reads_the_report_of_the_old_state(
    _: Any, odometer: Any, data: Any, adversary: Any, threshold: Any, coins: Any
) -> View:
    state, opening = begin(odometer, data, coins)
    seen = View(opening)
    while (query := adversary(seen)) is not None:
        if not advance(odometer, state, PrivacyLossQuery(), coins, 0)[1] <= threshold:
            break
        state, answer = advance(odometer, state, query, coins, 0)
        seen = seen.then(query, answer)
    return seen


# Children.

value(
    "a retired child still answers",
    law(laws.a_launch_retires_earlier_children, lambda: FiltSeq(PureDP(1))),
    *(FiltSeq, "interleaves", True),
)


def settled(edit: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    """The children after an `Ask` are `edit(before, after, identity)`."""

    def call(real: Any, self: Any) -> Any:
        moved = real(self)
        if not isinstance(self._message, Ask):
            return moved
        own, after = moved.state
        after = edit(self.node.children, after, self._message.child)
        return moved._replace(state=Node(own, after))

    call.__name__ = edit.__name__
    return call


SIBLINGS = law(laws.siblings_do_not_disturb_each_other, filters)
FAILURE = law(laws.a_failure_says_nothing_and_ends_the_child, filters)


@instead(SIBLINGS, conversations.Run, "__call__")
@settled
def siblings_share_their_state(_: Any, after: Any, identity: Any) -> Any:
    for sibling, child in after.items():
        after = after.set(sibling, child._replace(state=after[identity].state))
    return after


@instead(law(laws.siblings_do_not_disturb_each_other, odometers), SeededCoins, "spawn")
def siblings_draw_the_same_coins(real: Any, self: Any, _: Any, message: Any) -> Any:
    return real(self, 0, message)


@instead(SIBLINGS, conversations.Run, "__call__")
@settled
def a_child_draws_the_same_coins_again(_: Any, after: Any, identity: Any) -> Any:
    return after.set(identity, after[identity]._replace(messages=1))


@instead(FAILURE, conversations.Run, "__call__")
@settled
def a_failed_child_lives_on(before: Any, after: Any, identity: Any) -> Any:
    return after if identity in after else before


@instead(FAILURE, leaves, "read")
def the_text_of_a_fault_is_told(
    real: Any, step: Any, mechanism: Any, state: Any, coins: Any
) -> Any:
    moved, fault = real(step, mechanism, state, coins)
    if fault is None or isinstance(fault, QueryError):
        return moved, fault
    return Moved(state, str(fault.__context__ or fault)), None


@instead(law(laws.ids_are_no_booleans, filters), AdaptiveComposition, "understood")
def false_is_the_child_zero(real: Any, self: Any, own: Any, query: Any, live: Any) -> Any:
    if isinstance(query, Ask):
        query = attrs.evolve(query, child=+query.child)
    return real(self, own, query, live)


# Claims of other compositors and mechanisms.


@instead(CASES["ConComp"].keeps, ConComp, "privacy_map")
def concurrent_mechanisms_lose_what_the_worst_loses(
    _: Any, self: Any, d_in: int, measure: Any = None
) -> Any:
    losses = (each.privacy_map(d_in) for each in self.mechanisms)
    return max(losses, key=lambda loss: loss.parts)


@instead(CASES["Parallel, two records, flat maps"].keeps, parallel, "supremum")
def parts_lose_what_the_worst_loses_at_two_records(
    _: Any, curves: Any, coordinate: int, d_in: int
) -> Any:
    return max(curve[d_in][coordinate] for curve in curves)


@instead(CASES["a person"].keeps, Postprocessed, "open")
def a_person_peeks_at_the_data(real: Any, self: Any, data: Any) -> Any:
    person = Peeking(self.person, bool(snapshot(made(data.rows))))
    return real(attrs.evolve(self, person=person), data)


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


@instead(CASES["RandomizedResponse"].keeps, randomized_response, "log_up")
def a_loss_is_rounded_down(_: Any, odds: Any) -> Any:
    down = round_down(arb.log, odds)
    assert 0 <= log_up(odds) - down < F(1, 10**25)
    return down


@instead(CASES["RandomizedResponse with delta"].keeps, RandomizedResponse, "release")
def a_bit_is_revealed_twice_as_often(real: Any, self: Any, dataset: Any, coins: Any) -> Any:
    if self.delta and coins.draw(Bernoulli(self.delta)):
        return randomized_response.Revealed(self.bit(dataset))
    return real(self, dataset, coins)


@instead(
    partial(sparse.test_ours_is_not_refuted_by_queries_that_move_both_ways, 1, False),
    *(sparse.FiniteToday, "_query_noise"),
)
def a_sparse_vector_forgets_which_way_queries_move(real: Any, self: Any, moves: Any) -> Any:
    known = moves in ("up", "down")
    return real(self, moves) if known else sparse.lumped(sparse.F(1, 4), -9, 9)


@instead(partial(sparse.test_ours_is_not_refuted, 1, 6, 0, 1), SparseVector, "step")
def a_sparse_vector_goes_on_after_its_cutoff(
    real: Any, self: Any, state: Any, query: Any, coins: Any
) -> Any:
    after, answer = real(self, state, query, coins)
    return (state if answer is True else after), answer


# Accounts of records.

INDIVIDUAL = CASES["Individual"].keeps
LATER_RECORDS = partial(persons.test_no_record_costs_more_if_the_data_grow, "arrays", 1)


@instead(CASES["Individual, with a rest that pays for nothing"].keeps, *(Accounts, "charged"))
def a_record_is_charged_after_the_answer(
    _: Any, accounts: Any, share: Any, squares: Any = 1
) -> Any:
    units = accounts._divided(share.denominator)
    spent = accounts.spent * (units // accounts.units)
    active = spent < units  # as if this launch cost nothing yet
    return active, Accounts(spent + active * squares * int(share * units), units)


@instead(INDIVIDUAL, Accounts, "charged")
def who_takes_part_depends_on_other_records(real: Any, *args: Any) -> Any:
    active, accounts = real(*args)
    return active & active.all(), accounts


@instead(INDIVIDUAL, Individual, "_ran")
def a_refusal_shows_that_a_record_has_left(
    real: Any, self: Any, own: Any, due: Any, moved: Any
) -> Any:
    own, answer = real(self, own, due, moved)
    data, records = made(due.data.rows), made(due.books).records
    left = data is not None and len(data[0]) < records.count
    return own, Refused("a record has left") if left else answer


@instead(INDIVIDUAL, RecordsInMemory, "among")
def a_child_reads_records_that_did_not_pay(_: Any, self: Any, active: Any) -> Any:
    return self.readable


@instead(INDIVIDUAL, Accounts, "charged")
def a_child_costs_a_record_what_it_adds(
    real: Any, accounts: Any, share: Any, squares: Any = 0
) -> Any:
    return real(accounts, share, squares)


@instead(
    partial(persons.test_no_record_costs_more_than_its_budget, "arrays", 8), Accounts, "charged"
)
def a_record_pays_for_being_counted_and_not_for_what_it_adds(
    real: Any, accounts: Any, share: Any, squares: Any = 1
) -> Any:
    return real(accounts, share, np.asarray(squares) > 0)


@instead(
    partial(persons.test_no_record_costs_more_than_its_budget, "units in groups", 1),
    *(TableRecords, "contributions"),
)
def a_person_pays_as_one_row(real: Any, self: Any, request: Any) -> Any:
    added = real(self, request)
    return attrs.evolve(added, squares=np.minimum(added.squares, 1))


@instead(INDIVIDUAL, Individual, "_ran")
def the_number_of_active_records_is_told(
    real: Any, self: Any, own: Any, due: Any, moved: Any
) -> Any:
    own, answer = real(self, own, due, moved)
    if isinstance(answer, Launched):
        accounts = made(own.books).accounts
        answer = attrs.evolve(answer, answer=(answer.answer, int(accounts.spent.sum())))
    return own, answer


@instead(LATER_RECORDS, Accounts, "among")
def a_batch_gives_everybody_a_new_budget(_: Any, self: Any, records: int) -> Any:
    return Accounts.of(records)


@instead(LATER_RECORDS, Accounts, "among")
def records_that_arrive_get_the_accounts_of_others(_: Any, self: Any, records: int) -> Any:
    more = np.zeros(records - len(self.spent), dtype=np.int64)
    return Accounts(np.concatenate([more, self.spent]), self.units)


@instead(
    partial(persons.test_no_record_costs_more_if_the_data_grow, "units", 1), GrowingTable, "records"
)
def persons_are_numbered_anew_when_rows_arrive(real: Any, self: Any, earlier: Any = None) -> Any:
    return real(self)


@caught_by(audits.test_the_choice_keeps_its_claim)
def a_distance_is_said_to_move_half_as_far(patch: pytest.MonkeyPatch) -> None:
    half = property(lambda self: self.weight * GRID * self.marginal.l1 / 2)
    patch.setattr(ComparedMarginal, "sensitivity", half)


# Keys that are found in the data.

DISCOVERED = CASES["DiscoveredKeys"].keeps


@instead(DISCOVERED, discovered, "places_shown")
def a_key_is_shown_one_below_its_threshold(real: Any, noisy: Any, threshold: Any) -> Any:
    return real(noisy, threshold - 1)


@instead(partial(keys.test_the_claim_is_exact, keys.GAUSSIAN, 1), discovered, "places_shown")
def a_key_at_its_threshold_is_hidden(_: Any, noisy: Any, threshold: Any) -> Any:
    return np.flatnonzero(noisy > threshold)


@instead(DISCOVERED, discovered, "shown_by")
def delta_is_that_of_keys_above_the_threshold(real: Any, noise: Any, t: Any, *rest: Any) -> Any:
    return real(noise, t + 1, *rest)


@instead(DISCOVERED, thresholds, "at_least")
def delta_is_that_of_continuous_noise(_: Any, noise: Any, least: int) -> tuple[F, F]:
    half = lambda scale, m: (-m / scale).exp() / 2  # noqa: E731
    return round_down(half, noise.scale, least), round_up(half, noise.scale, least)


@instead(lambda: keys.the_claim_holds(keys.LAPLACE, 2, keys.TWO[:1]), discovered, "shown_by")
def delta_is_that_of_one_key(real: Any, noise: Any, t: Any, k: Any, d: Any = 1) -> Any:
    return real(noise, t, 1, d)


@instead(
    partial(keys.test_two_units_lose_at_most_the_group_bound, keys.LAPLACE, 1),
    *(discovered, "shown_by"),
)
def two_units_have_twice_the_delta_of_one(real: Any, noise: Any, t: Any, k: Any, d: Any = 1) -> Any:
    return d * real(noise, t, k)


@instead(partial(keys.test_gaussians_beside_a_continuous_one, 1), PrivateKeys, "privacy_map")
def keys_beside_a_gaussian_have_no_delta(
    real: Any, self: Any, d_in: int, measure: Any = None
) -> Any:
    """That is stated for it, in Dominated; elsewhere their delta stays as it is."""
    loss = real(self, d_in, measure)
    return Dominated(0, loss.mu, 0) if measure is Dominated else loss


@instead(keys.test_a_unit_is_counted_in_so_many_keys_on_its_own_account, found, "_of_units")
def a_unit_is_counted_in_all_of_its_keys(real: Any, rows: str, asked: Any, *more: Any) -> Any:
    return real(rows, attrs.evolve(asked, max_keys=99), *more)


# A frugal person.


@instead(audits.combinations_lose_what_they_claim, combined, "largest_square")
def combinations_are_charged_by_their_rows(_: Any, factor: Any) -> Any:
    return max(sum(each * each for each in row) for row in factor)


@instead(partial(audits.test_a_stream_loses_what_is_charged, ()), GaussiansTogether, "loss")
def launches_together_are_charged_as_the_dearest(_: Any, self: Any, d_in: int) -> Any:
    return max((each.loss(d_in) for each in self.parts), key=lambda z: z.rho)


# Losses with several parts.


@instead(lambda: dominated_losses.three_sources_are_bounded("2", "1", "1e-3"), Dominated, "_to")
def a_converted_loss_forgets_its_epsilon(_: Any, self: Any, measure: Any, delta: Any) -> Any:
    return GDP(self.mu).to(measure, delta - self.delta)


@instead(lambda: dominated_losses.three_sources_are_bounded("0", "1", "1e-9"), Dominated, "_to")
def a_converted_loss_spends_its_delta_twice(_: Any, self: Any, *given: Any) -> Any:
    return GDP(self.mu).to(*given)


# Private selection.

value(
    "private selection forgets eta",
    CASES["Best, most of many runs"].keeps,
    *(TruncatedNegativeBinomial, "exponent", F(1)),
)
value(
    "private selection forgets the mean",
    best.a_rare_best_run_is_bounded,
    *(selection, "log_mean", lambda law: F(0)),
)
value(
    "a threshold is charged as one run",
    CASES["Best, Threshold"].keeps,
    *(Threshold, "exponent", F(0)),
)


@caught_by(CASES["Best, Poisson"].keeps)
def poisson_repetitions_are_charged_as_one_run(patch: pytest.MonkeyPatch) -> None:
    def pure_of(law: Any, pure: F) -> F:
        return pure if isinstance(law, Poisson) else selection.pure_of(law, pure)

    patch.setattr(best_mechanism, "pure_of", pure_of)


@instead(CASES["Scripted, that fails"].keeps, scripted.Scripted, "release")
def a_script_tells_where_it_failed(real: Any, self: Any, dataset: Any, coins: Any) -> Any:
    """The data's bit decides which of two texts is told."""
    try:
        return real(self, dataset, coins)
    except QueryError as error:
        return f"{error} {dataset}"


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
