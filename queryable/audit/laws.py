"""Laws of state machines: rules that every mechanism must follow, whatever it computes.

Compositors, replays and audits assume that `init` and `step` are functions of their arguments and
coins. The laws here test this assumption for any mechanism. They do not test privacy claims; use
`audit` for that.
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from types import MappingProxyType
from typing import Any, TypeAlias

import attrs

from queryable.audit.views.scripts import NONSENSE, Script, require_mechanism, snapshot
from queryable.errors import PrivacyClaimError, QueryError, RetiredChildError
from queryable.losses import Loss, Measure, PureDP, zero_of
from queryable.losses.numbers import several
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.messages import (
    Ask,
    AskMany,
    CloseBlock,
    Halted,
    Launch,
    Launched,
    Update,
    addressed,
    is_owners,
    unnested,
)
from queryable.randomness.coins import SYSTEM, Coins, SeededCoins
from queryable.streams.levels import Growth
from queryable.wording.quoting import quoted, truth

_SEEDS = 40  # fair coins agree under all seeds with probability 2^-40
_SHORT = 8  # a shorter text occurs in other texts by coincidence


Law: TypeAlias = Callable[[Script], Iterator[str]]


def equal_coins_give_equal_results(script: Script) -> Iterator[str]:
    """`init` and `step` depend on their arguments and coins only."""
    mechanism = script.mechanism
    first, second = (mechanism.init(script.dataset, SeededCoins(7)) for _ in range(2))
    if snapshot(first) != snapshot(second):
        yield "init with equal coins gives a different state or answer the second time"
    for state, query in script.states():
        one, other = (mechanism.step(state, query, SeededCoins(7)) for _ in range(2))
        if snapshot(one) != snapshot(other):
            yield f"{query!r} with equal state and coins gives a different result the second time"


def a_step_leaves_its_state_alone(script: Script) -> Iterator[str]:
    """A step does not change the state that it is given."""
    mechanism, coins = script.mechanism, SeededCoins(3)
    state, _ = mechanism.init(script.dataset, coins)
    for query in script.queries:
        before = snapshot(state)
        with suppress(RetiredChildError):
            after, _ = mechanism.step(state, query, coins)
            if snapshot(state) != before:
                yield f"{query!r} changes the state that it is given; a step gives a new one"
            state = after


def wrong_queries_change_nothing(script: Script) -> Iterator[str]:
    """A wrong query raises `QueryError` in every state and does not change the next answer."""
    mechanism = script.mechanism
    for state, query in script.states():
        clean = mechanism.step(state, query, SeededCoins(5))
        for wrong in script.wrong:
            try:
                _, answer = mechanism.step(state, wrong, SeededCoins(5))
            except QueryError:
                continue
            except Exception as error:
                yield f"{wrong!r} raises {type(error).__name__}; it should be a QueryError"
            else:
                if not isinstance(answer, Halted):  # a halted mechanism answers every query
                    yield f"{wrong!r} is answered; it should raise a QueryError"
        if snapshot(mechanism.step(state, query, SeededCoins(5))[1]) != snapshot(clean[1]):
            yield f"{query!r} is answered differently after wrong queries"


def a_run_replays_from_its_seed(script: Script) -> Iterator[str]:
    """Equal seeds give equal views; for a random mechanism, some other seed gives another view."""
    first = script.answers(11)
    if script.answers(11) != first:
        yield "two runs with one seed differ; draw all randomness from the coins"
    elif script.random and all(script.answers(seed) == first for seed in range(_SEEDS)):
        yield "all runs are equal for all coins; pass random=False if nothing is random"


def old_states_stay_usable(script: Script) -> Iterator[str]:
    """A state gives the same answers after the run has continued from it."""

    def answered(state: Any, query: Any) -> Any:
        return snapshot(script.mechanism.step(state, query, SeededCoins(9))[1])

    states = script.states()
    then = [answered(state, query) for state, query in states]
    for (state, query), answer in reversed(list(zip(states, then, strict=True))):
        if answered(state, query) != answer:
            yield f"{query!r} is answered differently by an old state after the run has continued"


def data_do_not_show_in_a_state(script: Script) -> Iterator[str]:
    """No state's repr contains the dataset or a batch. Very short texts are not checked."""
    data = [script.dataset, *(each.records for each in script.queries if isinstance(each, Update))]
    texts = [text for each in data for text in (repr(each), str(each)) if len(text) > _SHORT]
    for state, _ in script.states():
        if any(text in repr(state) for text in texts):
            yield "a state prints the dataset; make its field attrs.field(repr=False)"
            return


def the_map_is_zero_at_zero_and_monotone(script: Script) -> Iterator[str]:
    """The map is zero at d_in=0 and monotone in d_in; only odometers may have no map."""
    mechanism = script.mechanism
    try:
        losses = [mechanism.privacy_map(d_in) for d_in in range(5)]
    except PrivacyClaimError as error:
        if not mechanism.reports_loss:
            yield f"it claims no privacy loss: {error}"
        return
    if not all(isinstance(loss, Loss) for loss in losses):
        yield f"its privacy map gives a {type(losses[-1]).__name__}; it should give a Loss"
        return
    if losses[0] != losses[1].zero():
        yield f"at d_in=0 it claims {losses[0]}; it should be {losses[1].zero()}"
    if not all(low <= high for low, high in pairwise(losses)):
        yield f"the loss decreases as d_in grows: {', '.join(map(str, losses))}"
    for wrong in (True, -1):
        with suppress(ValueError):
            mechanism.privacy_map(wrong)
            yield f"its privacy map takes d_in={wrong!r}; it should raise a ValueError"


def a_description_is_a_value(script: Script) -> Iterator[str]:
    """A description equals its copy, is hashable and frozen, so it can be logged and compared."""
    mechanism = script.mechanism
    if copy.copy(mechanism) != mechanism:
        yield "it does not equal its copy; make its class attrs.frozen"
    try:
        hash(mechanism)
    except TypeError as error:
        yield f"it cannot be hashed: {error}"
    with suppress(AttributeError):
        mechanism.anything = 1  # type: ignore[attr-defined]
        object.__delattr__(mechanism, "anything")
        yield "its attributes can be set; make its class attrs.frozen"


def a_measurement_has_a_coin_at_launch(script: Script) -> Iterator[str]:
    """A measurement answers at launch, so its delta is charged at launch."""
    if isinstance(script.mechanism, Measurement) and not script.mechanism.coin_at_launch:
        yield "it is a measurement, so coin_at_launch should be True"


def batches_are_answered_with_none(script: Script) -> Iterator[str]:
    """The answer to a message of the data's owner is None: no analyst sees it."""
    for _, query, answer in script.run(SeededCoins(13)):
        if is_owners(query) and answer is not None:
            yield f"{query!r} is answered with {quoted(answer)}; it should be None"


def only_the_owner_sends_batches(script: Script) -> Iterator[str]:
    """A batch in an analyst's message is wrong; one without a `growth` takes none at all."""
    mechanism = script.mechanism
    paths = {(), (0,), *(unnested(query)[0] for query in script.queries)}
    batches = [each for each in script.queries if is_owners(each)] or [Update(script.dataset)]
    batches.append(CloseBlock("block"))
    for state, _ in script.states():
        tried = [
            addressed(path, wrapped)
            for batch in batches[:1] + batches[-1:]
            for path in paths
            for wrapped in (batch, AskMany([batch]), Launch(batch))
            if path or wrapped is not batch or mechanism.growth is None
        ]
        for wrong in tried:
            with suppress(Exception):  # that it is a QueryError is another law
                _, answer = mechanism.step(state, wrong, SeededCoins(5))
                if not isinstance(answer, Halted):
                    yield f"{wrong!r} is answered; only the owner of the data sends batches"


@attrs.frozen
class _Probe(InteractiveMechanism[Any]):
    """Tells what it was launched on, or the batches that it got if it takes them.

    It claims no loss, so it runs on made-up data only.
    """

    growth: Growth | None

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        return PureDP(0) if measure is None else zero_of(measure)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return dataset if self.growth is None else (), None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        if isinstance(query, Update):
            records = query.records if self.growth is None else [*state, query.records]
            return records, None
        if query != "told":
            raise QueryError("ask what it was told")
        return state, snapshot(state)


def children_get_what_they_should(script: Script) -> Iterator[str]:
    """A child gets each batch once if it takes batches; others keep the data of their launch.

    If the mechanism does not pass batches on, all do.
    """
    mechanism, coins = script.mechanism, SeededCoins(17)
    passes = mechanism.growth is not None and mechanism.growth.passes_batches
    for state, batch in script.states():
        for growth in (None, Growth()) if isinstance(batch, Update) else ():
            try:
                launched, answer = mechanism.step(state, Launch(_Probe(growth)), coins)
            except QueryError:  # it launches nothing
                continue
            child = getattr(answer, "child", None)
            if type(answer) is not Launched or child is None:  # it has no budget left
                continue
            told = Ask(child, "told")
            before = mechanism.step(launched, told, coins)[1]
            after = mechanism.step(mechanism.step(launched, batch, coins)[0], told, coins)[1]
            gets = growth is not None and passes
            wanted = snapshot([batch.records]) if gets else before
            if after != wanted:
                kind = "that takes batches gets something other than the batch, once"
                yield f"a child {kind if gets else 'that keeps its data sees a batch'}"


LAWS: Mapping[str, Law] = MappingProxyType(
    {
        law.__name__.replace("_", " "): law
        for law in (
            equal_coins_give_equal_results,
            a_step_leaves_its_state_alone,
            wrong_queries_change_nothing,
            a_run_replays_from_its_seed,
            old_states_stay_usable,
            data_do_not_show_in_a_state,
            the_map_is_zero_at_zero_and_monotone,
            a_description_is_a_value,
            a_measurement_has_a_coin_at_launch,
            batches_are_answered_with_none,
            only_the_owner_sends_batches,
            children_get_what_they_should,
        )
    }
)
"""Every law, by its name."""


@attrs.frozen
class Broken:
    """A law that a mechanism breaks, and the observed failure."""

    law: str
    how: str

    def __str__(self) -> str:
        return f"{self.law}: {self.how}"


def broken_laws(
    mechanism: InteractiveMechanism[Any],
    dataset: Any,
    queries: Sequence[Any] = (),
    *,
    wrong: Sequence[Any] = NONSENSE,
    random: bool = True,
) -> tuple[Broken, ...]:
    """Return the laws of state machines that a mechanism breaks; empty if it breaks none.

    Compositors, replays and audits rely on these laws. A `step` that changes its state, uses
    randomness other than its coins, or answers a wrong query is incorrect, whatever the privacy map
    claims. To check a person in the middle, put it over a mechanism:
    `broken_laws(Person() @ mechanism, ...)`. Privacy claims are not checked; use `audit`.

    Checked by: tests/laws/test_laws.py, which applies the same laws to every mechanism here.

    Args:
        dataset: a small, made-up dataset.
        queries: a sequence of legal queries. They should reach as much of the mechanism's
            behaviour as possible. For a mechanism with a `growth`, put an `Update` between
            others.
        wrong: queries that the mechanism should reject.
        random: whether the answers are random.

    Raises:
        QueryError: one of `queries` was not legal.

    Examples:
        >>> from mechanisms import Count, SparseVector
        >>> broken_laws(SparseVector(5, epsilon=1), {"age": [31, 47]}, [Count()] * 3)
        ()
    """
    require_mechanism(mechanism)
    script = Script(
        mechanism,
        dataset,
        tuple(several(queries, "queries")),
        tuple(several(wrong, "wrong")),
        truth(random, "random"),
    )
    return tuple(
        Broken(name, how) for name, law in LAWS.items() for how in dict.fromkeys(law(script))
    )
