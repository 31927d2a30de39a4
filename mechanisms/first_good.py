"""Selection that is charged for what it chose: candidates are tried until one is good enough.

Responsible for the mechanism, its query and its expense. Runs and their numbers are those of
`mechanisms.best`, and the law of their number is of `mechanisms.repetitions`.
"""

from fractions import Fraction
from math import ceil
from typing import Any, Self

import attrs

from mechanisms.best import (
    BestRun,
    Score,
    Where,
    a_score,
    best_run,
    candidates_of,
    field_of,
    largest,
    number_of,
    require_numbers,
)
from mechanisms.repetitions import TruncatedNegativeBinomial
from mechanisms.tables.requests.signed import signed
from queryable.checks.fit import require_launchable
from queryable.checks.held import held
from queryable.effort import require_short
from queryable.errors import QueryError, UnknownQueryError
from queryable.ex_post import Expense, ExPostMechanism, Opening
from queryable.losses import PureDP
from queryable.losses.fields import read_positive_epsilon
from queryable.losses.numbers import at_least_one, shown
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.messages import Answer, Query, Refused
from queryable.optional import effort
from queryable.randomness.coins import SYSTEM, Coins
from queryable.randomness.laws import UniformBelow
from queryable.wording.quoting import an_instance

_MOST_TRIES = 1000
_ENDED = Refused(
    "this search has ended",
    instead="launch another FirstGood: this one has found a good run, or has no tries left. "
    "Nothing was read or charged",
)


def _tau(value: Any) -> Fraction | None:
    return None if value is None else signed(value, "tau")


def _tries(value: Any) -> int:
    tries = at_least_one(value, "tries")
    if not tries <= _MOST_TRIES:
        raise ValueError(f"tries is {tries}; it should be at most {_MOST_TRIES}")
    return tries


@attrs.frozen
class Try:
    """Run candidates; answers the best run as a `BestRun` if it is good enough.

    Args:
        base, score, of: the candidates, and which answer is best, as in `Best`.
        tau: what is good enough: a number of at least this, or of at most this if the smallest is
            best. By default any run is.
    """

    base: tuple[Measurement[Any], ...] = attrs.field(converter=candidates_of)
    score: Score = attrs.field(validator=a_score)
    tau: Fraction | None = attrs.field(default=None, converter=_tau)
    of: Where = attrs.field(default=None, converter=field_of, kw_only=True)

    def __attrs_post_init__(self) -> None:
        """Check that the candidates have such a number, if that is known.

        Raises:
            ValueError: one never answers a number there, or `of` is given beside a function.
        """
        require_numbers(self.base, self.score, self.of)

    def epsilon(self, d_in: int) -> Fraction:
        """The largest epsilon of the candidates.

        Raises:
            QueryError: one of them is not epsilon-DP.
        """
        found = largest(self.base, d_in, PureDP)
        if found is None:
            raise QueryError(
                "try candidates that are epsilon-DP, such as Laplace(Count(), epsilon=..): one of "
                "these states no epsilon"
            )
        return found

    def number(self, answer: Any) -> Fraction:
        """How good an answer is: the larger the better."""
        return number_of(answer, self.score, self.of)

    def is_good(self, number: Fraction) -> bool:
        """Whether a run with this number, the larger the better, is good enough."""
        if self.tau is None:
            return True
        return number >= (-self.tau if self.score == "smallest" else self.tau)


@attrs.frozen
class FirstGoodState:
    """How many tries were made, and whether the search has ended. The other fields are private."""

    tried: int
    ended: bool
    left: int = attrs.field(repr=False)
    dataset: Any = attrs.field(repr=False)


@attrs.frozen
class FirstGood(ExPostMechanism[FirstGoodState]):
    """Tries candidates, one after the other, until a run is good enough; that ends the search.

    Answers `Try(candidates, score, tau)` with a `BestRun`. Its candidate is None if no run of this
    try was good enough. Each try may have other candidates and another tau, chosen by whatever was
    answered before, here and elsewhere. After the end the answer is `Refused`.

    The number of runs of all tries together is drawn at the launch, and each of them falls into one
    of the tries. It is not told. So a try may have no run, and good candidates may be missed. If a
    run is good with probability p, a try of it, the first of n, finds one with probability
    1 - log(gamma + (1-gamma) p/n) / log(gamma) at eta=0. A run that fails, or has no finite number,
    fails the search.

    Privacy:
        Claim: ex post, with m the largest epsilon of the candidates that were tried: (2+eta) m, and
            (1+eta) m plus the epsilon of the last try once a run was found. So at eta=0 a search
            from cheap to dear candidates costs twice what the last one costs. In advance
            PureDP((2+eta) epsilon d_in).
        Theorem: docs/theory.md, ex-post selection. The aim is that of Ghazi et al. 2025, and the
            law of the number of runs that of Papernot, Steinke 2022.
        Assumes: the claims of the candidates. That time does not show how often they ran. A
            function sees answers that are not released: it neither keeps nor shows anything.
        Checked by: tests/audit/test_first_good.py

    Args:
        epsilon: the largest that a candidate may have at one record, in nats.
        repetitions: the law of the number of runs of all tries.
        tries: the largest number of tries, at most 1,000.
    """

    epsilon: Fraction = attrs.field(converter=read_positive_epsilon)
    repetitions: TruncatedNegativeBinomial = attrs.field(
        validator=an_instance(TruncatedNegativeBinomial)
    )
    tries: int = attrs.field(converter=_tries)

    def __attrs_post_init__(self) -> None:
        """Check that a theorem covers the repetitions.

        Raises:
            ValueError: they are of a subclass, which could draw other numbers.
        """
        if type(self.repetitions) is not TruncatedNegativeBinomial:
            raise ValueError("repetitions should be a TruncatedNegativeBinomial, of no subclass")

    def loss(self, d_in: int) -> PureDP:
        """(2 + eta) * epsilon * d_in, as if the dearest candidate were tried."""
        return PureDP((1 + self.repetitions.exponent) * self.epsilon * d_in)

    def expense(self) -> "SelectionExpense":
        """Nothing before the first try."""
        return SelectionExpense(self)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[FirstGoodState, None]:
        """Draw how many runs there are. There is no first answer, and the data are not read."""
        return FirstGoodState(0, False, coins.draw(self.repetitions), dataset), None

    def understood(self, query: Query) -> Try:
        """The query itself: a `Try` of candidates with at most the epsilon of this search."""
        if type(query) is not Try:
            raise UnknownQueryError(f"ask FirstGood Try(candidates, score), not {type(query)}")
        price = query.epsilon(1)
        if not price <= self.epsilon:
            raise QueryError(
                f"try candidates with an epsilon of at most {shown(self.epsilon)}, which this "
                f"FirstGood was launched with; the largest of these is {shown(price)}"
            )
        return query

    def step(
        self, state: FirstGoodState, query: Query, coins: Coins = SYSTEM
    ) -> tuple[FirstGoodState, Answer]:
        """Run the candidates as often as falls to this try.

        Raises:
            QueryError: the query is none of these, or its candidates do not fit the data.
            MechanismFault: a run failed.
        """
        tried = self.understood(query)
        if state.ended:
            return state, _ENDED
        times = ceil(self.repetitions.mean / (self.tries * len(tried.base)))
        for each in tried.base:
            require_launchable(state.dataset, each)
            for inner in held(each):
                if isinstance(inner, InteractiveMechanism):
                    require_short(effort(inner), times)
        this_one = UniformBelow(self.tries - state.tried)
        runs = sum(coins.draw(this_one) == 0 for _ in range(state.left))
        found = best_run(runs, tried.base, tried.number, state.dataset, coins)
        count = state.tried + 1
        if found is not None and tried.is_good(found[0]):
            return FirstGoodState(count, True, 0, None), found[1]
        if count == self.tries:
            return FirstGoodState(count, True, 0, None), BestRun(None, None)
        return FirstGoodState(count, False, state.left - runs, state.dataset), BestRun(None, None)


@attrs.frozen
class SelectionExpense(Expense):
    """What the tries so far have cost.

    Attributes:
        tried: the tries, in order.
        found: whether the last one found a good run.
    """

    mechanism: FirstGood
    tried: tuple[Try, ...] = ()
    found: bool = False

    def epsilon(self, d_in: int) -> Fraction:
        """(2+eta) m, or (1+eta) m and the epsilon of the last try."""
        prices = [each.epsilon(d_in) for each in self.tried]
        if not prices:
            return Fraction(0)
        dearest = max(prices)
        last = prices[-1] if self.found else dearest
        return self.mechanism.repetitions.exponent * dearest + last

    def at_worst(self, query: Query, d_in: int) -> Fraction:
        """The cost if this try finds nothing, which is at least that of a good run."""
        return self._with(query).epsilon(d_in)

    def after(self, query: Query, answer: Answer) -> Self:
        """The tries with this one."""
        found = isinstance(answer, BestRun) and answer.candidate is not None
        then = self._with(query)
        return then if then is self else attrs.evolve(then, found=found)

    def _with(self, query: Query) -> Self:
        """The tries with this one, if it is made: the search may have ended."""
        if isinstance(query, Opening):
            return self
        tried = self.mechanism.understood(query)
        if self.found or len(self.tried) == self.mechanism.tries:
            return self
        return attrs.evolve(self, tried=(*self.tried, tried))
