"""Check a claim from every history on which the messages agreed.

A mechanism whose `growth` states `from_any_history` claims more than other continual mechanisms:
whatever has been answered while the streams were equal, what follows still loses at most its
privacy map. It is what lets the parts of `Parallel` get batches (docs/theory.md, data that grow).
This module lists the histories. `auditing` audits what follows each of them.

A history is the opening and the answers to messages that are the same under x and x'. Given a
history, the hidden state has the same law under both. A `FromHistory` starts from that law, so its
audit is one of the mechanism from that moment on.
"""

from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import attrs

from queryable.audit.auditing import audit
from queryable.audit.beliefs import Belief, Machine
from queryable.audit.verdict import Finding, Verdict
from queryable.audit.views.pairs import Around, Pair
from queryable.audit.views.scripts import require_mechanism
from queryable.losses import Loss
from queryable.losses.numbers import natural, several, shown
from queryable.mechanism import Answer, InteractiveMechanism, Query
from queryable.randomness.coins import SYSTEM, Coins
from queryable.randomness.laws import FairBits, Law
from queryable.view import View


@attrs.frozen
class Hidden(Law[Any]):
    """The law of the hidden state after a history."""

    states: tuple[tuple[Any, Fraction], ...] = attrs.field(repr=False)

    def sample(self, source: FairBits) -> Any:
        """Return one state."""
        common = 1
        for _, chance in self.states:
            common = common * chance.denominator
        drawn = Fraction(source.below(common), common)
        for state, chance in self.states:
            drawn -= chance
            if drawn < 0:
                return state
        raise ValueError("the probabilities do not sum to 1")

    def outcomes(self) -> tuple[tuple[Any, Fraction], ...]:
        """Return every state with its probability."""
        return self.states


@attrs.frozen
class FromHistory(Around):
    """A mechanism from some moment on; the data are in its state already."""

    hidden: Hidden

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Answer]:
        """Draw the hidden state; there is no opening answer."""
        return coins.draw(self.hidden), None

    def step(self, state: Any, query: Query, coins: Coins = SYSTEM) -> tuple[Any, Answer]:
        """Go on as the mechanism does."""
        return self.mechanism.step(state, query, coins)


@attrs.frozen
class History:
    """The messages and answers before the streams differ, as both datasets of a `Finding`."""

    view: View

    def __repr__(self) -> str:
        told = [f"{each.query!r} -> {each.answer!r}" for each in self.view]
        opening = [] if self.view.opening is None else [repr(self.view.opening)]
        return f"after [{', '.join([*opening, *told])}]"


def audit_histories(
    mechanism: InteractiveMechanism[Any],
    dataset: Any,
    *,
    queries: Sequence[Any],
    history: int,
    horizon: int,
    claim: Loss | None = None,
    d_in: int = 1,
    differing: int = 1,
    limit: int = 200_000,
) -> Verdict:
    """Check that a continual mechanism's claim holds from any history, exactly.

    Privacy:
        The verdict covers every history of up to `history` messages, and every adversary that
        sends at most `horizon` messages after it. A mechanism whose verdict is `refuted` must not
        state `from_any_history`. One with a pure claim cannot be refuted, if `audit` finds that
        the claim holds.

    Args:
        dataset: the initial data, equal under x and x'.
        queries: the messages of the adversary, with at least one `Pair` among them. Those that are
            no `Pair` make up the histories.
        history: the largest number of messages on which both streams agree.
        horizon: the largest number of messages after that.
        claim: the loss to check; the mechanism's own `privacy_map(d_in)` by default.
        differing: the largest number of `Pair`s that are sent.
        limit: the largest number of histories, and of beliefs in each search.

    Raises:
        TypeError: `mechanism` is not a mechanism, or a number is not an integer.
        ValueError: no `Pair` is among the queries, a number is negative, there are too many
            histories, or a draw has infinite support.
    """
    require_mechanism(mechanism)
    history, horizon = natural(history, "history"), natural(horizon, "horizon")
    differing, limit = natural(differing, "differing"), natural(limit, "limit")
    queries = tuple(several(queries, "queries"))
    if not any(isinstance(query, Pair) for query in queries):
        raise ValueError("queries should contain a Pair: a message that differs between streams")
    stated = mechanism.privacy_map(d_in) if claim is None else claim
    findings: list[Finding] = []
    count = 0
    for view, hidden in _histories(mechanism, dataset, queries, history):
        count += 1
        if count > limit:
            most = shown(Fraction(limit))
            raise ValueError(f"histories are more than {most}; lower history, or raise limit")
        verdict = audit(
            FromHistory(mechanism, hidden),
            [(None, None)],
            queries=queries,
            horizon=horizon,
            claim=stated,
            d_in=d_in,
            differing=differing,
            limit=limit,
            progress=False,
        )
        after = History(view)
        findings += [attrs.evolve(each, x=after, x_prime=after) for each in verdict.findings]
    agreed = f"{count} histories of up to {shown(Fraction(history))} messages that agree"
    ahead = f"horizon {shown(Fraction(horizon))}"
    method = f"the exact worst of all adversaries after each of {agreed}, {ahead}"
    return Verdict(mechanism, stated, d_in, method, tuple(findings))


def _histories(
    mechanism: InteractiveMechanism[Any], dataset: Any, queries: Sequence[Any], most: int
) -> Iterator[tuple[View, Hidden]]:
    """Every history, with the law of the hidden state after it; equal laws only once."""
    machine = Machine(mechanism)
    common = [query for query in queries if not isinstance(query, Pair)]
    opened = machine.start(dataset, dataset)
    reached = [(View(seen.answer), seen.belief) for seen in opened.values()]
    known: set[Hashable] = set()
    for left in range(most, -1, -1):
        following: list[tuple[View, Belief]] = []
        for view, belief in reached:
            normal = belief.over(belief.mass[0])
            if normal.key in known:
                continue
            known.add(normal.key)
            yield view, Hidden(machine.hidden(normal))
            if left:
                asked = ((query, machine.after(normal, query)) for query in common)
                following += [
                    (view.then(query, seen.answer), seen.belief)
                    for query, answers in asked
                    for seen in (answers or {}).values()
                ]
        reached = following
        if not reached:  # however many more messages there may be
            return
