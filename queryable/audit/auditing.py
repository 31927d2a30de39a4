"""An audit: compare a mechanism's privacy claim with the distributions of its views.

This module reads the arguments and chooses the method; `methods` examines and judges. `claims`
translates a claim into checks; `view_laws`, `worst_case` and `statistical` compute the divergences.

A view is everything that an adversary sees: the opening answer and all later answers. The law of a
view is its probability distribution. An audit examines each pair of neighbouring datasets in both
directions. It uses the first method that applies:

- the exact worst case over all adversaries that ask from `queries`, up to `horizon`;
- the exact law of the view, of a measurement or of one `adversary`. Infinite supports are cut off
  at a `tail`, whose mass counts as delta;
- samples of that view. Samples can refute a claim but never prove it.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from queryable.audit.beliefs import Machine
from queryable.audit.methods import Examination
from queryable.audit.verdict import Verdict
from queryable.audit.views.scripts import require_mechanism
from queryable.audit.worst_case import Alphabet
from queryable.losses import Loss
from queryable.losses.numbers import Number, natural, positive, probability, several
from queryable.mechanism import InteractiveMechanism
from queryable.randomness.coins import SYSTEM, Coins
from queryable.view import Adversary
from queryable.wording.quoting import quoted


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
    examination = Examination(
        mechanism=mechanism,
        claim=mechanism.privacy_map(d_in) if claim is None else claim,
        pairs=[(x, y) for pair in pairs for x, y in (pair, pair[::-1])],
        queries=queries if callable(queries) else tuple(several(queries, "queries")),
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
    examination.require_something()
    if not (examination.alarm > 0 and examination.samples >= 8):
        raise ValueError(
            "samples should be at least 8 and confidence below 1; "
            f"they are {examination.samples} and {quoted(confidence)}"
        )
    with _bar(progress) as tick:
        examine = examination.search if examination.searching else examination.laws
        method, findings = examine(tick)
    return Verdict(mechanism, examination.claim, d_in, method, tuple(findings))


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
