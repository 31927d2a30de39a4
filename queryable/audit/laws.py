"""Laws of state machines: what every mechanism keeps to, whatever it computes.

Responsible for telling whether a mechanism's `init` and `step` are what compositors, replays and
audits take them for: functions of their arguments and coins. Knows no mechanism, and says nothing
about privacy: that is for `audit`.
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from types import MappingProxyType
from typing import Any, TypeAlias

import attrs

from queryable.coins import Coins, SeededCoins
from queryable.errors import PrivacyClaimError, QueryError, RetiredChildError
from queryable.losses import Loss
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.messages import Halted
from queryable.quoting import quoted

NONSENSE: tuple[Any, ...] = (None, object(), float("nan"), object, len)
"""Queries that hardly any mechanism understands."""

_SEEDS = 40  # two runs of a fair coin agree in all of them with a chance of 2^-40
_SHORT = 8  # a shorter text is in many others by chance


@attrs.frozen
class Script:
    """A mechanism, a dataset, and a run of legal queries.

    Attributes:
        queries: legal in this order. What has been retired on the way is skipped.
        wrong: queries that are wrong in every state.
        random: whether runs with other coins should differ.
    """

    mechanism: InteractiveMechanism[Any]
    dataset: Any = attrs.field(repr=False)
    queries: tuple[Any, ...] = attrs.field(default=(), converter=tuple)
    wrong: tuple[Any, ...] = attrs.field(default=NONSENSE, converter=tuple)
    random: bool = True

    def run(self, coins: Coins) -> Iterator[tuple[Any, Any, Any]]:
        """The states that the script leads to: before a query, the query, and its answer.

        The first has no state before it, and no query: it is the opening.
        """
        state, answer = self.mechanism.init(self.dataset, coins.spawn("root", 0))
        yield None, None, answer
        for message, query in enumerate(self.queries, 1):
            with suppress(RetiredChildError):
                after, answer = self.mechanism.step(state, query, coins.spawn("root", message))
                yield state, query, answer
                state = after

    def states(self) -> list[tuple[Any, Any]]:
        """Each state, with the query that is legal there."""
        return [(state, query) for state, query, _ in self.run(SeededCoins(1))][1:]

    def answers(self, seed: int) -> list[Any]:
        """The opening and every answer, as values to compare."""
        return [snapshot(answer) for *_, answer in self.run(SeededCoins(seed))]


Law: TypeAlias = Callable[[Script], Iterator[str]]


def snapshot(value: Any) -> Any:
    """A deep picture, by value: fields, maps, arrays, and what else has a repr."""
    if attrs.has(type(value)):
        fields = [(field.name, getattr(value, field.name)) for field in attrs.fields(type(value))]
        return (type(value), [(name, snapshot(each)) for name, each in fields])
    if hasattr(value, "items") and not isinstance(value, type):
        return sorted((repr(key), snapshot(each)) for key, each in value.items())
    if isinstance(value, tuple | list):
        return [snapshot(each) for each in value]
    if hasattr(value, "tolist"):
        return value.tolist()
    told_by = next(kind for kind in type(value).__mro__ if "__repr__" in vars(kind))
    if told_by is object and hasattr(value, "__dict__"):  # its repr is its address
        return (type(value), snapshot(vars(value)))
    return repr(value)


def equal_coins_give_equal_results(script: Script) -> Iterator[str]:
    """`init` and `step` are functions of their arguments and coins, and of nothing else."""
    mechanism = script.mechanism
    first, second = (mechanism.init(script.dataset, SeededCoins(7)) for _ in range(2))
    if snapshot(first) != snapshot(second):
        yield "init with equal coins gives another state or answer the second time"
    for state, query in script.states():
        one, other = (mechanism.step(state, query, SeededCoins(7)) for _ in range(2))
        if snapshot(one) != snapshot(other):
            yield f"{query!r} in one state with equal coins gives another result the second time"


def a_step_leaves_its_state_alone(script: Script) -> Iterator[str]:
    """The state before a step is, value by value, the state after it."""
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
    """Nonsense is a `QueryError` in every state, and the next answer is as if it was never said."""
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
                if not isinstance(answer, Halted):  # which is the answer to everything
                    yield f"{wrong!r} is answered; it should raise a QueryError"
        if snapshot(mechanism.step(state, query, SeededCoins(5))[1]) != snapshot(clean[1]):
            yield f"{query!r} is answered otherwise after wrong queries"


def a_run_replays_from_its_seed(script: Script) -> Iterator[str]:
    """Equal seeds give equal views, and where there is randomness others give others."""
    first = script.answers(11)
    if script.answers(11) != first:
        yield "two runs with one seed differ: something random is not drawn from the coins"
    elif script.random and all(script.answers(seed) == first for seed in range(_SEEDS)):
        yield "all runs are equal, whatever the coins; if nothing is random say random=False"


def old_states_stay_usable(script: Script) -> Iterator[str]:
    """A state answers as it did, after the run has gone on from it."""

    def answered(state: Any, query: Any) -> Any:
        return snapshot(script.mechanism.step(state, query, SeededCoins(9))[1])

    states = script.states()
    then = [answered(state, query) for state, query in states]
    for (state, query), answer in reversed(list(zip(states, then, strict=True))):
        if answered(state, query) != answer:
            yield f"{query!r} is answered otherwise by an old state once the run has gone on"


def data_do_not_show_in_a_state(script: Script) -> Iterator[str]:
    """No state prints the dataset; where its text is very short that cannot be told."""
    texts = [text for text in (repr(script.dataset), str(script.dataset)) if len(text) > _SHORT]
    for state, _ in script.states():
        if any(text in repr(state) for text in texts):
            yield "a state prints the dataset; make its field attrs.field(repr=False)"
            return


def the_map_is_zero_at_zero_and_monotone(script: Script) -> Iterator[str]:
    """Equal data lose nothing, more records never lose less; odometers say they have no map."""
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
        yield f"more records lose less: {', '.join(map(str, losses))}"
    for wrong in (True, -1):
        with suppress(ValueError):
            mechanism.privacy_map(wrong)
            yield f"its privacy map takes d_in={wrong!r}; it should raise a ValueError"


def a_description_is_a_value(script: Script) -> Iterator[str]:
    """Equal to its copy, hashable and frozen: it can be logged and compared."""
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
    """It answers at once, so any delta of it is paid when it is launched."""
    if isinstance(script.mechanism, Measurement) and not script.mechanism.coin_at_launch:
        yield "it is a measurement and says that it has no coin at launch"


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
        )
    }
)
"""Every law by name."""


@attrs.frozen
class Broken:
    """A law that a mechanism breaks, and how it shows."""

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
    """The laws of state machines that a mechanism of one's own breaks; none if all is well.

    Compositors, replays and audits rely on them: a `step` that changes its state, draws from
    elsewhere than its coins or answers nonsense is wrong whatever its privacy map says. A person
    is checked over a mechanism: `broken_laws(Person() @ mechanism, ...)`. Looks at no privacy loss;
    `audit` does.

    Checked by: tests/laws/test_laws.py, which holds every mechanism here against the same laws.

    Args:
        dataset: small and made up.
        queries: legal ones, in an order in which they are; the more of what it does they reach the
            better.
        wrong: queries that it should not understand.
        random: whether its answers are random.

    Raises:
        QueryError: one of `queries` was not legal.

    Examples:
        >>> from mechanisms import Count, SparseVector
        >>> broken_laws(SparseVector(5, epsilon=1), {"age": [31, 47]}, [Count()] * 3)
        ()
    """
    if not isinstance(mechanism, InteractiveMechanism):
        raise TypeError(f"mechanism is {quoted(mechanism)}; it should be an InteractiveMechanism")
    script = Script(mechanism, dataset, tuple(queries), tuple(wrong), random)
    return tuple(
        Broken(name, how) for name, law in LAWS.items() for how in dict.fromkeys(law(script))
    )
