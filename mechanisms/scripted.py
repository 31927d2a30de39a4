"""An analysis as one measurement: an interactive mechanism, and who asks it.

Responsible for running the analysis behind one launch. What it is asked is the analyst's part.
"""

from collections.abc import Callable
from typing import Any

import attrs

from mechanisms.first_good import Try
from mechanisms.frugal.frugal_queries import Estimate
from mechanisms.refinement.refine_queries import Latest, Open, Refine, Until
from mechanisms.synthetic.fit_queries import Fit, FromModel, Measurements, SampleRows
from queryable.checks.held import held
from queryable.effort import admitted
from queryable.errors import MechanismFault, PrivacyClaimError
from queryable.faults import interrupted, touching_data
from queryable.losses import Loss, Measure
from queryable.losses.numbers import natural
from queryable.mechanism import InteractiveMechanism, Measurement, nested
from queryable.messages import (
    Ask,
    AskMany,
    Launch,
    LaunchMany,
    MeasureQuery,
    PrivacyLossQuery,
    RemainingQuery,
    is_owners,
    not_the_owner,
)
from queryable.optional import public_name
from queryable.randomness.coins import Coins
from queryable.view import View, conversation
from queryable.wording.quoting import an_instance, quoted

_MOST_ROUNDS = 100_000

Queries = Callable[[View], Any] | tuple[Any, ...]


def _analyst(value: Any) -> Queries:
    if isinstance(value, list | tuple):
        if any(each is None for each in value):
            raise TypeError("analyst has a None; leave it out, or give a function that stops there")
        return tuple(value)
    if callable(value) and not isinstance(value, type):
        return value  # type: ignore[no-any-return]  # what it returns is checked when it is asked
    raise TypeError(
        f"analyst is {quoted(value)}; it should be a list of queries, or a function from the view "
        "so far to the next query, or to None"
    )


def _max_rounds(value: Any) -> int:
    rounds = natural(value, "max_rounds")
    if not 1 <= rounds <= _MOST_ROUNDS:
        raise ValueError(f"max_rounds is {rounds}; it should be 1 to {_MOST_ROUNDS}")
    return rounds


@attrs.frozen
class Scripted(Measurement[View]):
    """A whole analysis that runs at its launch and answers its `View`.

    The mechanism is started and asked until the analyst asks no more, the mechanism halts, or
    `max_rounds` queries have been asked. If a query is wrong or the analyst raises an exception,
    the launch answers `Failed` and nothing else: that may depend on answers that nobody was shown.
    A list with a query that is wrong whatever is answered is refused before the charge.
    A child of the mechanism that fails, and a launch that is refused, are answers in the view.

    It is a candidate of `Best`, and a measurement where interactive children are not taken. An
    analyst who sees the answers anyway launches the mechanism itself.

    Privacy:
        Claim: that of the mechanism, in every measure.
        Theorem: Haney et al. 2023, Definition 1.7: it bounds the view of every adversary, and the
            analyst is one. What it fails on is a function of the view.
        Assumes: the claim of the mechanism. The analyst sees answers that are perhaps never
            released: it is a function of the view, and neither keeps nor shows anything.
        Checked by: tests/unit/mechanisms/test_scripted.py, tests/audit/cases.py

    Args:
        mechanism: what is asked, such as a filter with the budget of the analysis.
        analyst: a list of queries, or a function from the `View` so far to the next query, or to
            None to stop.
        max_rounds: the largest number of queries.
    """

    neighbours = None  # as the mechanism

    mechanism: InteractiveMechanism[Any] = attrs.field(validator=an_instance(InteractiveMechanism))
    analyst: Queries = attrs.field(converter=_analyst)
    max_rounds: int = attrs.field(default=1000, converter=_max_rounds, kw_only=True)

    def __attrs_post_init__(self) -> None:
        """Check that the mechanism has a claim, and answers about data that stand still.

        Raises:
            ValueError: it has none; or what runs answers about batches, and none arrives.
        """
        nested([self.mechanism])
        try:
            self.mechanism.privacy_map(1)
        except PrivacyClaimError as error:
            raise ValueError(f"mechanism should have a privacy loss: {error}") from None
        for each in held(self.mechanism):
            growth = each.growth if isinstance(each, InteractiveMechanism) else None
            if growth is not None and growth.about_batches:
                raise ValueError(
                    f"{type(each).__name__} answers about data that grow, and these stand still; "
                    "launch it in a filter beside this analysis"
                )

    @property
    def height(self) -> int:
        """The mechanism's height plus 1."""
        return nested([self.mechanism])

    def asks(self) -> tuple[InteractiveMechanism[Any], tuple[Any, ...]]:
        """The mechanism and the list, which is checked before the charge; a function is not."""
        listed = self.analyst if isinstance(self.analyst, tuple) else ()
        return self.mechanism, listed[: self.max_rounds]

    def has_number(self, of: str | int | None) -> bool | None:
        """False if the last query of a list, which `Best` looks at, never gives a number.

        Without queries `Best` looks at the opening.
        """
        last = self.asks()[1][-1:] if self.analyst != () else (Launch(self.mechanism),)
        while last and isinstance(last[0], Ask):
            last = (last[0].query,)
        match last:
            case (Launch(mechanism=Measurement() as launched),):
                return False if launched.has_number(of) is False else None
            case (Launch() | Open() | SampleRows() | Measurements(),) if _all_ours(self):
                return False
            case (query,) if isinstance(query, _WITH_FIELDS) and _all_ours(self):
                return None if isinstance(of, str) else False
            case (AskMany(),):
                return None if isinstance(of, int) else False
            case (PrivacyLossQuery() | RemainingQuery() | MeasureQuery() | LaunchMany(),):
                return False
        return None

    @property
    def public_name(self) -> str:
        """The mechanism's name."""
        return f"an analysis by {public_name(self.mechanism)}"

    def loss(self, d_in: int) -> Loss:
        """The mechanism's claim."""
        return self.mechanism.privacy_map(d_in)

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """The mechanism's privacy map."""
        return self.mechanism.privacy_map(d_in, measure)

    def release(self, dataset: Any, coins: Coins) -> View:
        """The view of the whole analysis."""
        with admitted():  # a list was judged, and its steps were counted, before the charge
            return conversation(
                self.mechanism, dataset, self._ask, coins, self.max_rounds, _stop_if_interrupted
            )

    def _ask(self, view: View) -> Any:
        if isinstance(self.analyst, tuple):
            query = self.analyst[len(view)] if len(view) < len(self.analyst) else None
        else:
            analyst = self.analyst
            query = touching_data(lambda: analyst(view))
        if is_owners(query):
            raise not_the_owner(query)
        return query


_WITH_FIELDS = (Estimate, Fit, FromModel, Latest, Refine, Try, Until)
"""Queries whose answers are no numbers, but have some in their fields."""


def _all_ours(analysis: Scripted) -> bool:
    """Whether nothing in an analysis is of a user's own class, which may answer anything.

    Then the openings of what it launches are no numbers either, but for measurements.
    """
    names = {type(each).__module__.partition(".")[0] for each in held(analysis)}
    return names <= {"queryable", "mechanisms", "composition"}


def _stop_if_interrupted() -> None:
    if interrupted():
        raise MechanismFault
