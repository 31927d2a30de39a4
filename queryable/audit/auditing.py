"""An audit: compare a mechanism's privacy claim with the distributions of its views.

This module chooses the method and judges the result. `claims` translates a claim into checks;
`enumeration`, `worst_case` and `statistical` compute the divergences.

A view is everything that an adversary sees: the opening answer and all later answers. The law of a
view is its probability distribution. An audit examines each pair of neighbouring datasets in both
directions. It uses the first method that applies:

- the exact worst case over all adversaries that ask from `queries`, up to `horizon`;
- the exact law of the view, of a measurement or of one `adversary`. Infinite supports are cut off
  at a `tail`, whose mass counts as delta;
- samples of that view. Samples can refute a claim but never prove it.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import attrs

from queryable.audit import claims
from queryable.audit.beliefs import Machine
from queryable.audit.claims import Check, DeltaAt
from queryable.audit.divergences import Bound, Law, best_event, cut_off, least_epsilon
from queryable.audit.enumeration import NotEnumerable, view_law
from queryable.audit.keys import require_alike
from queryable.audit.laws import require_mechanism
from queryable.audit.objectives import Divergence, MaxDivergence
from queryable.audit.pairs import OneSide, turned_alphabet
from queryable.audit.statistical import sampled, separate
from queryable.audit.verdict import Finding, Outcome, Verdict, short
from queryable.audit.worst_case import Alphabet, WorstCase, worst_of
from queryable.losses import ApproxDP, Loss, PureDP
from queryable.losses.numbers import Number, natural, positive, probability, shown
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.quoting import quoted
from queryable.randomness.coins import SYSTEM, Coins
from queryable.view import Adversary, View


def audit(
    mechanism: InteractiveMechanism[Any],
    pairs: Iterable[tuple[Any, Any]],
    *,
    queries: Alphabet = (),
    horizon: int = 0,
    adversary: Adversary | None = None,
    claim: Loss | None = None,
    d_in: int = 1,
    differing: int = 1,
    tail: Number = "1e-12",
    slack: Number = "1e-9",
    samples: int = 20_000,
    confidence: Number = "0.999",
    limit: int = 200_000,
    coins: Coins = SYSTEM,
    progress: bool | None = None,
) -> Verdict:
    """Check a mechanism's privacy claim against its exact worst case, or against samples.

    Privacy:
        An exact audit refutes a claim by proof: a witness whose divergence, rounded down, exceeds
        the bound. The claim holds for these pairs, queries and horizon if the divergence, rounded
        up, does not exceed the bound.
        Samples refute a true claim with probability at most 1 - confidence, over all pairs and
        directions together (Bonferroni). They refute a false claim if there are enough of them.

    Args:
        pairs: datasets that differ in `d_in` records; both directions are checked. For streams
            that differ later, pairs of equal datasets, with a `Pair` among the queries.
        queries: the queries that an adversary may ask, including launches and updates; see
            `worst_case`.
        horizon: the largest number of queries; at 0, only the opening answer is examined.
        adversary: examine the view of this adversary instead of searching for the worst one.
        claim: the loss to check; the mechanism's own `privacy_map(d_in)` by default.
        d_in: the number of records that differ, over the initial datasets and all updates.
        differing: the largest number of `Pair`s that are sent, in a search. Different initial
            datasets count as one.
        tail: the probability mass that each draw with infinite support may cut off.
        slack: the largest amount that tails may add to delta in a claim that holds.
        samples: the number of views sampled from each dataset if they cannot be enumerated.
        confidence: a lower bound on the probability that samples refute no true claim.
        limit: the largest number of beliefs or views to enumerate.
        coins: the source of randomness for samples; seeded coins make them repeatable.
        progress: whether to show a progress bar (extra `audit`). By default the bar appears on a
            terminal after a few seconds.

    Raises:
        NotEnumerable: the search over adversaries reaches a draw with infinite support; pass
            `adversary` instead.
        ValueError: the search is too large, by an estimate; or it would examine nothing: no
            queries, no horizon, or no query that is ever legal.
        PrivacyClaimError: the mechanism claims no loss of its own; pass `claim`.
    """
    require_mechanism(mechanism)
    if claim is not None and not isinstance(claim, Loss):
        raise TypeError(f"claim is {quoted(claim)}; it should be a privacy loss, such as PureDP(1)")
    looking = _Looking(
        mechanism=mechanism,
        claim=mechanism.privacy_map(d_in) if claim is None else claim,
        pairs=[(x, y) for pair in pairs for x, y in (pair, pair[::-1])],
        queries=queries if callable(queries) else tuple(queries),
        differing=natural(differing, "differing"),
        horizon=natural(horizon, "horizon"),
        adversary=adversary,
        tail=positive(tail, "tail"),
        slack=probability(slack, "slack"),
        samples=natural(samples, "samples"),
        alarm=1 - probability(confidence, "confidence"),
        limit=natural(limit, "limit"),
        coins=coins,
        machine=Machine(mechanism),
    )
    looking.require_something()
    if not (looking.alarm > 0 and looking.samples >= 8):
        raise ValueError(
            "samples should be at least 8 and confidence below 1; "
            f"they are {looking.samples} and {quoted(confidence)}"
        )
    with _bar(progress) as tick:
        method, findings = looking.search(tick) if looking.searching else looking.laws(tick)
    return Verdict(mechanism, looking.claim, d_in, method, tuple(findings))


@attrs.frozen(kw_only=True)
class _Looking:
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

    looking: _Looking
    x: Any
    x_prime: Any
    queries: Alphabet
    tick: Any

    def worst(self, divergence: Divergence) -> WorstCase:
        """Return the largest value of a divergence over all adversaries."""
        looking, asked = self.looking, (self.queries, self.looking.horizon)
        most = (looking.differing, looking.limit)
        return worst_of(looking.machine, self.x, self.x_prime, *asked, divergence, *most, self.tick)

    def laws(self, adversary: Adversary) -> tuple[Law, Law]:
        """Return the laws of an adversary's view under x and under x'."""
        mechanism = self.looking.mechanism
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


@contextmanager
def _bar(wanted: bool | None) -> Iterator[Any]:
    """Yield a function that reports progress to a bar; by default the bar appears after 3 s."""
    if wanted is False:
        yield lambda _: None
        return
    try:
        from tqdm import tqdm
    except ImportError:
        if wanted:
            raise ImportError(
                "a progress bar needs tqdm: pip install '.[audit]' in a checkout"
            ) from None
        yield lambda _: None
        return
    disable = None if wanted is None else False
    with tqdm(disable=disable, delay=0 if wanted else 3, unit=" steps") as bar:
        yield lambda _: bar.update()
