"""The methods of an audit: a search over adversaries, exact laws, and samples.

Responsible for what each method looks at, and for judging what it finds. `auditing` chooses the
method; `claims` translates a claim into checks.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import attrs

from queryable.audit import claims
from queryable.audit.beliefs import Machine
from queryable.audit.claims import Check, DeltaAt
from queryable.audit.divergences import Bound, Law, best_event, cut_off, least_epsilon
from queryable.audit.objectives import Divergence, MaxDivergence
from queryable.audit.statistical import sampled, separate
from queryable.audit.verdict import Finding, Outcome, short
from queryable.audit.views.enumeration import NotEnumerable
from queryable.audit.views.keys import require_alike
from queryable.audit.views.pairs import OneSide, turned_alphabet
from queryable.audit.views.view_laws import view_law
from queryable.audit.worst_case import Alphabet, WorstCase, worst_of
from queryable.losses import ApproxDP, Loss, PureDP
from queryable.losses.numbers import shown
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.randomness.coins import Coins
from queryable.view import Adversary, View


@attrs.frozen(kw_only=True)
class Examination:
    """What an audit examines, and how closely; see `audit`."""

    mechanism: InteractiveMechanism[Any]
    claim: Loss
    pairs: Sequence[tuple[Any, Any]]
    """Each pair is followed by its reverse, in which both messages of a `Pair` are exchanged."""
    queries: Alphabet
    differing: int
    horizon: int
    adversary: Adversary | None
    tail: Fraction
    slack: Fraction
    samples: int
    alarm: Fraction
    limit: int
    coins: Coins
    machine: Machine

    def require_something(self) -> None:
        """Refuse an audit whose arguments leave nothing to examine.

        Raises:
            ValueError: the arguments are incomplete or contradict each other.
        """
        if not self.pairs:
            raise ValueError("pairs is empty; pass neighbouring datasets, as in [(x, x_prime)]")
        asking = callable(self.queries) or bool(self.queries)
        if self.adversary is not None and (asking or self.horizon):
            raise ValueError("pass an adversary, or queries and a horizon to search; not both")
        if asking != bool(self.horizon):
            missing = "a horizon: the number of" if asking else "queries: the"
            raise ValueError(f"a search needs {missing} queries that an adversary may ask")
        answers_once = isinstance(self.mechanism, Measurement)
        if not (asking or answers_once or self.adversary is not None):
            raise ValueError(
                f"{type(self.mechanism).__name__} is interactive; pass queries and a horizon, or "
                "an adversary (lambda view: None examines the opening answer only)"
            )

    @property
    def searching(self) -> bool:
        """Whether to search for the worst adversary."""
        return self.adversary is None and self.horizon > 0

    @property
    def against(self) -> Adversary:
        """The adversary whose view is examined; by default one that asks nothing."""
        return _silent if self.adversary is None else self.adversary

    def search(self, tick: Any) -> tuple[str, list[Finding]]:
        """Search for the worst case over all adversaries; return the method and the findings."""
        alphabets = (self.queries, turned_alphabet(self.queries))
        found = [
            self._worst(check, x, x_prime, alphabets[place % 2], tick)
            for check in claims.checks_of(self.claim)
            for place, (x, x_prime) in enumerate(self.pairs)
        ]
        offered, illegal_note = "queries that depend on the view", ""
        if not callable(self.queries):
            count = len(self.queries)
            offered = "1 query" if count == 1 else f"{count} queries"
            everywhere = set.intersection(*(illegal for _, illegal in found))
            never = [self.queries[place] for place in sorted(everywhere)]
            listed = ", ".join(map(short, never))
            if len(never) == count:
                raise ValueError(f"no query is legal at any point: {listed}")
            illegal_note = f"; never legal: {listed}" if never else ""
        horizon = shown(Fraction(self.horizon))
        method = f"the exact worst of all adversaries, {offered}, horizon {horizon}{illegal_note}"
        return method, [finding for finding, _ in found]

    def _worst(
        self, check: Check, x: Any, x_prime: Any, queries: Alphabet, tick: Any
    ) -> tuple[Finding, set[int]]:
        search = _Pair(self, x, x_prime, queries, tick)
        searched = check.searched(search)
        below, above, found = searched.below, searched.above, searched.found
        outcome = self._judge(check, below, above, Fraction(0))
        epsilon = None
        if outcome is Outcome.REFUTED and isinstance(self.claim, PureDP):
            epsilon = search.worst(MaxDivergence()).value
        adversary = found.adversary
        finding = Finding(
            x, x_prime, check, below, above, outcome, adversary=adversary, epsilon=epsilon
        )
        return finding, set() if callable(queries) else _places(found.never_legal, queries)

    def laws(self, tick: Any) -> tuple[str, list[Finding]]:
        """Compare the laws of one adversary's view, exactly if possible, otherwise by samples."""
        whose = "the opening answer" if self.adversary is None else "the adversary's view"
        try:
            found = [self._law(x, place % 2) for place, (x, _) in enumerate(self.pairs)]
        except NotEnumerable as too_many:
            return self._sample(whose, too_many, tick)
        findings: list[Finding] = []
        for place, (x, x_prime) in enumerate(self.pairs):
            p, q = found[place], found[place ^ 1]  # each pair is adjacent to its reverse
            _require_alike(p, q)
            for check in claims.checks_of(self.claim):
                tick(len(findings))
                findings.append(self._compare(check, x, x_prime, p, q))
        return f"the exact law of {whose}", findings

    def _law(self, dataset: Any, side: int) -> Law:
        return view_law(
            self.mechanism, dataset, self.against, tail=self.tail, limit=self.limit, side=side
        )

    def _compare(self, check: Check, x: Any, x_prime: Any, p: Law, q: Law) -> Finding:
        found = check.enclosed(p, q)
        views: tuple[Any, ...] = ()
        epsilon = None
        if isinstance(check, DeltaAt):
            views = tuple(best_event(p, q, check.epsilon))
            if isinstance(self.claim, PureDP | ApproxDP) and not cut_off(p) > 0:
                epsilon = least_epsilon(p, q, check.bound)
        return Finding(
            x,
            x_prime,
            check,
            found.below,
            found.above,
            self._judge(check, found.below, found.above, found.missed),
            found.missed,
            self.adversary,
            views=views,
            epsilon=epsilon,
        )

    def _judge(self, check: Check, below: Bound, above: Bound, missed: Fraction) -> Outcome:
        if below > check.bound:
            return Outcome.REFUTED
        if above <= check.bound + check.slack(self.slack) and missed <= self.slack:
            return Outcome.HOLDS
        return Outcome.NOT_REFUTED

    def _sample(self, whose: str, reason: Exception, tick: Any) -> tuple[str, list[Finding]]:
        checks = claims.points_of(self.claim)
        points = [(check.epsilon, check.bound) for check in checks]
        level = float(self.alarm / len(self.pairs))
        seen = [
            sampled(OneSide(self.mechanism, place % 2), x, self.against, self._coins(place, tick))
            for place, (x, _) in enumerate(self.pairs)
        ]
        findings = []
        for place, (x, x_prime) in enumerate(self.pairs):
            found = separate(seen[place], seen[place ^ 1], points, level)
            check = DeltaAt(*found.point)
            proved = found.delta > check.bound
            outcome = Outcome.REFUTED if proved else Outcome.NOT_REFUTED
            findings.append(Finding(x, x_prime, check, found.delta, None, outcome, event=found))
        method = (
            f"{self.samples} samples of {whose} under each dataset, confidence "
            f"{shown(1 - self.alarm)} ({reason})"
        )
        return method, findings

    def _coins(self, place: int, tick: Any) -> Iterator[Coins]:
        for number in range(self.samples):
            tick(number)
            yield self.coins.spawn(f"sample {place}/{number}", 0)


@attrs.frozen
class _Pair:
    """The search over adversaries for one pair. All searches of an audit share one `Machine`."""

    examination: Examination
    x: Any
    x_prime: Any
    queries: Alphabet
    tick: Any

    def worst(self, divergence: Divergence) -> WorstCase:
        """Return the largest value of a divergence over all adversaries."""
        known = self.examination
        asked, most = (self.queries, known.horizon), (known.differing, known.limit)
        return worst_of(known.machine, self.x, self.x_prime, *asked, divergence, *most, self.tick)

    def laws(self, adversary: Adversary) -> tuple[Law, Law]:
        """Return the laws of an adversary's view under x and under x'."""
        mechanism = self.examination.mechanism
        return (
            view_law(mechanism, self.x, adversary, errors=True, side=0),
            view_law(mechanism, self.x_prime, adversary, errors=True, side=1),
        )


def _require_alike(p: Law, q: Law) -> None:
    keys = {seen: seen for seen in p}
    for seen in q:
        require_alike(keys.get(seen, seen), seen)


def _places(some: Sequence[Any], queries: Sequence[Any]) -> set[int]:
    return {place for place, query in enumerate(queries) if any(query is each for each in some)}


def _silent(view: View) -> None:
    """An adversary that asks nothing."""
