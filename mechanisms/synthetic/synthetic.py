"""`Synthetic`: a person in the middle that fits a model of the rows, and answers from it."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import prod
from typing import Any

import attrs
import numpy as np

from mechanisms.exponential import ExponentialMechanism
from mechanisms.gaussian import Gaussian
from mechanisms.synthetic import fitting
from mechanisms.synthetic.choosing import ChosenMarginal
from mechanisms.synthetic.domain import AskedRegions, Columns, Domain, columns_field, domain_of
from mechanisms.synthetic.fit_queries import (
    Direct,
    Fit,
    FromModel,
    Measured,
    Measurements,
    ModelFit,
    Modelled,
    SampleRows,
    SyntheticRows,
)
from mechanisms.synthetic.graphical import GRID, Model, on_grid, size_of, uniform
from mechanisms.synthetic.limits import (
    MOST_CELLS,
    cells_field,
    characters_of,
    fit_of,
    planned_round,
    require_quick,
    require_quick_choice,
    require_small,
    require_whole_units,
    rounds_field,
    rows_of,
)
from mechanisms.synthetic.scores import ComparedMarginal, Distances, Marginal
from mechanisms.synthetic.spending import (
    MOST_ROUNDS,
    Round,
    expected_error,
    finest,
    next_round,
    of_loss,
)
from mechanisms.synthetic.workload import (
    CandidateMarginal,
    Workload,
    candidates_of,
    cells_of_model,
    workload_field,
)
from mechanisms.tables.requests.privacy_unit import PrivacyUnit
from mechanisms.tables.requests.request import Groups
from mechanisms.tables.statistics.aggregates import per_field
from queryable.data.cells import Array
from queryable.data.frozen import read_only
from queryable.effort import is_quick, require_short_answer
from queryable.errors import QueryError
from queryable.faults import report
from queryable.losses import ZCDP
from queryable.messages import Launch, Launched
from queryable.postprocessing import (
    FromAnalyst,
    FromMechanism,
    PersonInTheMiddle,
    ToAnalyst,
    ToMechanism,
)
from queryable.randomness.coins import Coins

_ROUNDS_PER_COLUMN = 15


@attrs.frozen(eq=False)
class Fitting:
    """A fit that is under way.

    Attributes:
        planned: what the next round may be charged.
        remaining: of the loss of the query.
        rounds: how many further marginals may be chosen.
        finest: the most that one measurement may be charged; None for no limit.
        first: the number of measurements before the fit.
        cost: what was charged so far.
        chosen: the columns that are being measured; None while they are being chosen.
        scores: what is being chosen from, or was.
        now: the current round.
    """

    planned: Round
    remaining: Fraction
    rounds: int
    finest: Fraction | None
    first: int
    cost: Fraction = Fraction(0)
    chosen: Columns | None = None
    scores: Distances | None = None
    now: Round = Round(Fraction(0), Fraction(0))

    @property
    def following(self) -> Round | None:
        """The next round; None if the fit is over. The last one that is allowed gets the rest."""
        following = next_round(self.planned, self.remaining)
        if following is None or self.rounds == 0:
            return None
        last = of_loss(self.remaining) if self.rounds == 1 else following
        last = last.at_most(self.finest)
        return last if last.epsilon > 0 else None

    def charged(self, rho: Fraction) -> "Fitting":
        """After a launch."""
        return attrs.evolve(self, remaining=self.remaining - rho, cost=self.cost + rho)


@attrs.frozen(eq=False)
class SyntheticState:
    """The model, what was measured, and a fit that is under way. All of it is public.

    Attributes:
        model: of the first `fitted` measurements.
        measured, places: the measurements, and the places of their columns.
        choices: how many marginals were chosen.
        last: the last one that was chosen and measured.
    """

    model: Model
    measured: tuple[Measured, ...] = ()
    places: tuple[Columns, ...] = ()
    fitting: Fitting | None = None
    fitted: int = 0
    choices: int = 0
    last: ChosenMarginal | None = None


Reply = tuple[SyntheticState, ToMechanism | ToAnalyst]


@attrs.frozen
class Synthetic(PersonInTheMiddle[SyntheticState]):
    """A model of the rows that answers for nothing; `Synthetic(..) @ FiltCon(ZCDP(..))`.

    Answers: `Fit` with a `ModelFit`, `Measurements` with what was measured, `FromModel` with a
    `Modelled`, `SampleRows` with `SyntheticRows`. Every other query goes to the mechanism below. A
    fit measures each column by itself, and then chooses marginals that the model has wrong: by the
    exponential mechanism, with the distance of the data's marginal from the model's as score. It
    measures each with Gaussian noise, and fits the model to all measurements: the most likely law
    that is a product of functions of the measured sets of columns. Later fits continue. A refusal
    ends a fit; what was measured before it is kept.

    Privacy:
        Claim: what the compositor below is charged.
        Theorem: docs/theory/proofs/synthetic.md; a postprocessing of exponential and Gaussian
            mechanisms (Haney et al. 2023, Theorems 2.17 and 4.10). The choice of marginals is that
            of AIM (McKenna, Mullins, Sheldon, Miklau 2022, Algorithm 4).
        Assumes: nothing further.
        Checked by: tests/unit/mechanisms/synthetic/test_synthetic.py,
            tests/audit/test_mechanisms.py, tests/statistical/test_synthetic.py

    Args:
        columns: public keys and intervals, written as for a `GroupBy`:
            `[{"state": ["CA", "NY"]}, Keys.bins("age", range(0, 100, 10))]`. Rows outside them are
            in one further cell of the column.
        workload: the sets of columns whose marginals should be right, as tuples of names; or a dict
            with their weights, whole numbers. By default all pairs.
        rounds: for how many chosen marginals the loss of a fit is planned, by default 15 for each
            column. There are fewer where measurements turn out to be more accurate than needed.
        max_cells: the largest number of cells of the tables in which the model is computed. It
            limits which marginals are chosen.
        per: the privacy unit whose rows are counted, such as `table.unit`.
    """

    columns: tuple[Groups, ...] = attrs.field(converter=columns_field)
    workload: Workload | None = attrs.field(default=None, converter=workload_field)
    rounds: int | None = attrs.field(default=None, converter=rounds_field, kw_only=True)
    max_cells: int = attrs.field(default=1 << 18, converter=cells_field, kw_only=True)
    per: PrivacyUnit | None = attrs.field(default=None, converter=per_field, kw_only=True)
    _domain: Domain = attrs.field(init=False, repr=False, eq=False)
    _candidates: tuple[CandidateMarginal, ...] = attrs.field(init=False, repr=False, eq=False)
    alone: tuple[Marginal, ...] = attrs.field(init=False, repr=False, eq=False)
    """Of each column. Data are checked by them before a launch of the person is charged."""

    continual = False  # it combines answers about one data set
    states_costs = True

    @_domain.default
    def _cut(self) -> Domain:
        return domain_of(self.columns)

    @_candidates.default
    def _listed(self) -> tuple[CandidateMarginal, ...]:
        return candidates_of(self.workload, self._domain.names)

    @alone.default
    def _of_each(self) -> tuple[Marginal, ...]:
        return tuple(self._marginal((place,)) for place in range(len(self.columns)))

    def __attrs_post_init__(self) -> None:
        """Check that a model of single columns is within the limit, and what is counted.

        Raises:
            ValueError: it is not; or which rows are counted depends on the columns.
        """
        require_whole_units(self.per)
        least = sum(self._domain.sizes)
        if not least <= self.max_cells:
            raise ValueError(
                f"max_cells is {self.max_cells}; it should be larger: the columns alone have "
                f"{least} cells"
            )

    def init(self) -> SyntheticState:
        """A model that knows nothing."""
        return SyntheticState(uniform(self._domain.sizes, 1.0))

    def step(
        self, state: SyntheticState, message: FromAnalyst | FromMechanism, coins: Coins
    ) -> Reply:
        """Answer from the model, or take the next step of a fit."""
        match message:
            case FromMechanism(answer):
                if state.fitting is None:
                    return state, ToAnalyst(answer)
                return self._on_answer(state, state.fitting, answer)
            case FromAnalyst(Fit() as query):
                begun = self._begun(state, query)
                return self._next(self._current(state), begun)
            case FromAnalyst(Measurements()):
                sizes = [each.counts.size for each in state.measured]
                require_short_answer(characters_of(sizes), "measurements")
                return state, ToAnalyst(state.measured)
            case FromAnalyst(FromModel(statistic)):
                asked = self._asked(state, statistic)
                state = self._current(state)
                return state, ToAnalyst(self._modelled(state, asked))
            case FromAnalyst(SampleRows(rows)):
                self._require_fitted(state)
                many = rows_of(rows, len(self.columns))
                state = self._current(state)
                return state, ToAnalyst(self._sampled(state.model, many, coins))
        return state, ToMechanism(message.query)

    def _begun(self, state: SyntheticState, query: Fit) -> Fitting:
        loss, rounds = fit_of(query)
        require_quick(rounds, self.max_cells, len(self._candidates) * len(self.columns))
        columns = range(len(self.columns))
        missing = [(each,) for each in columns if (each,) not in state.places]
        if is_quick():
            small = [*self._small(state)] if rounds != 0 else []
            require_quick_choice([cells for _, cells in small])
            chosen = max((self._cells(each.columns) for each, _ in small), default=0)
            sizes = [*map(self._cells, missing), chosen]
            require_short_answer(characters_of(sizes), "measurements")
        planned = self.rounds or _ROUNDS_PER_COLUMN * len(self.columns)
        alone = len(missing)
        many = (planned if rounds is None else rounds) + alone
        l2 = self.alone[0].l2
        each = planned_round(loss, many, l2)
        most = MOST_ROUNDS if rounds is None else rounds
        return Fitting(each, loss, most, finest(each, l2), len(state.measured))

    def _next(self, state: SyntheticState, under_way: Fitting) -> Reply:
        """Measure a column that was not measured yet, or choose what to measure next."""
        alone = self._alone(state)
        if alone is not None:
            now = Round(Fraction(0), under_way.planned.cost)
            return self._measuring(state, attrs.evolve(under_way, chosen=alone, now=now))
        following = under_way.following
        if following is None:
            return self._ended(state, under_way)
        state = self._current(state)
        scores = self._scores(state, following)
        choice = ExponentialMechanism(scores, following.epsilon)
        waiting = attrs.evolve(under_way, chosen=None, scores=scores, now=following)
        return attrs.evolve(state, fitting=waiting), ToMechanism(Launch(choice))

    def _measuring(self, state: SyntheticState, under_way: Fitting) -> Reply:
        assert under_way.chosen is not None
        noisy = Gaussian(self._marginal(under_way.chosen), rho=under_way.now.measuring)
        return attrs.evolve(state, fitting=under_way), ToMechanism(Launch(noisy))

    def _on_answer(self, state: SyntheticState, under_way: Fitting, answer: Any) -> Reply:
        if not isinstance(answer, Launched):  # refused or failed: the fit ends
            return attrs.evolve(state, fitting=None), ToAnalyst(answer)
        if under_way.chosen is None:
            assert under_way.scores is not None
            chosen = self._places(under_way.scores.compared[answer.answer].marginal.names)
            paid = under_way.charged(under_way.now.epsilon**2 / 8)
            more = attrs.evolve(state, choices=state.choices + 1)
            return self._measuring(more, attrs.evolve(paid, chosen=chosen))
        columns, now = under_way.chosen, under_way.now
        marginal = self._marginal(columns)
        variance = marginal.l2**2 / (2 * now.measuring)
        counts = read_only(np.array(answer.answer))
        after = attrs.evolve(
            state,
            measured=(*state.measured, Measured(marginal.names, counts, variance)),
            places=(*state.places, columns),
            fitting=None,
        )
        paid = under_way.charged(now.measuring)
        try:
            return self._continued(state, after, paid)
        except BaseException as fault:  # also an interrupt: the curator or the root is told of it
            report(fault)
            return self._ended(after, paid)

    def _continued(self, before: SyntheticState, after: SyntheticState, paid: Fitting) -> Reply:
        """Go on after a measurement."""
        columns, now, last = after.places[-1], paid.now, after.measured[-1]
        if now.choosing:
            assert paid.scores is not None
            choice = ChosenMarginal(
                paid.scores, last.columns, now.epsilon, after.choices, last.counts, last.variance
            )
            after = attrs.evolve(after, last=choice)
            paid = attrs.evolve(paid, rounds=paid.rounds - 1)
            if paid.following is not None:
                after = self._current(after)
                moved = abs(after.model.marginal(columns) - before.model.marginal(columns)).sum()
                if moved <= expected_error(last.variance, last.counts.size):
                    paid = attrs.evolve(paid, planned=paid.planned.doubled)
        return self._next(after, paid)

    def _ended(self, state: SyntheticState, under_way: Fitting) -> Reply:
        rows = round(fitting.total_of(state.measured))
        made = ModelFit(state.measured[under_way.first :], ZCDP(under_way.cost), rows)
        return attrs.evolve(state, fitting=None), ToAnalyst(made)

    def _alone(self, state: SyntheticState) -> Columns | None:
        """The first column that was not measured by itself."""
        missing = (each for each in range(len(self.columns)) if (each,) not in state.places)
        return next(((each,) for each in missing), None)

    def _current(self, state: SyntheticState) -> SyntheticState:
        """The state with a model of all measurements. It takes long, so only where it is needed."""
        if state.fitted == len(state.measured):
            return state
        model = fitting.fitted(state.model, state.places, state.measured)
        return attrs.evolve(state, model=model, fitted=len(state.measured))

    def _marginal(self, columns: Columns) -> Marginal:
        names = tuple(self._domain.names[each] for each in columns)
        return Marginal(self._domain.counts(columns, self.per), names)

    def _places(self, names: tuple[str, ...]) -> Columns:
        return tuple(map(self._domain.names.index, names))

    def _scores(self, state: SyntheticState, now: Round) -> Distances:
        """The scores of all marginals with which the model is small enough."""
        found = []
        for each, _ in self._small(state):
            marginal = self._marginal(each.columns)
            variance = marginal.l2**2 / (2 * now.measuring)
            noise = expected_error(variance, size_of(each.columns, self._domain.sizes))
            modelled = on_grid(state.model.marginal(each.columns))
            less = each.weight * int(GRID * noise)
            found.append(ComparedMarginal(marginal, modelled, each.weight, less))
        return Distances(tuple(found))

    def _small(self, state: SyntheticState) -> Iterator[tuple[CandidateMarginal, int]]:
        """The candidates with which the model is small enough, and its cells then."""
        for each in self._candidates:
            cells = cells_of_model([*state.places, each.columns], self._domain.sizes)
            if cells <= self.max_cells:
                yield each, cells

    def _cells(self, columns: Columns) -> int:
        """The number of cells of a marginal."""
        return prod(self._domain.sizes[each] for each in columns)

    def _asked(self, state: SyntheticState, statistic: Any) -> AskedRegions:
        self._require_fitted(state)
        asked = self._domain.asked(statistic, self.per)
        require_small([*state.places, asked.columns], self._domain.sizes)
        return asked

    def _require_fitted(self, state: SyntheticState) -> None:
        if not state.measured:
            raise QueryError("ask Fit(loss) first: nothing was measured yet")

    def _modelled(self, state: SyntheticState, asked: AskedRegions) -> Modelled:
        there = sum(set(asked.columns) <= set(columns) for columns in state.places)
        entries = prod(asked.shape or ())
        require_short_answer(entries * (20 + 12 * there) + 300 * there, "answers")
        value = asked.counted(state.model.marginal(asked.columns), asked.columns)
        direct = tuple(
            self._direct(asked, columns, each, number)
            for number, (columns, each) in enumerate(
                zip(state.places, state.measured, strict=True), start=1
            )
            if set(asked.columns) <= set(columns)
        )
        known = None
        if not direct and state.last is not None:
            names = tuple(self._domain.names[each] for each in asked.columns)
            known = state.last.about(names, self._now(state))
        return Modelled(float(value) if asked.shape is None else read_only(value), direct, known)

    def _now(self, state: SyntheticState) -> Callable[[tuple[str, ...]], Array | None]:
        """The model's marginals; None where the tables for all together are too large."""
        left = MOST_CELLS

        def marginal(names: tuple[str, ...]) -> Array | None:
            nonlocal left
            columns = self._places(names)
            cells = cells_of_model([*state.places, columns], self._domain.sizes)
            if not cells <= left:
                return None
            require_small([*state.places, columns], self._domain.sizes)
            left -= cells
            return state.model.marginal(columns)

        return marginal

    def _direct(self, asked: AskedRegions, columns: Columns, each: Measured, number: int) -> Direct:
        noisy = np.rint(asked.counted(each.counts.astype(float), columns)).astype(np.int64)
        cells = np.rint(asked.counted(np.ones(each.counts.shape), columns)).astype(np.int64)
        if asked.shape is None:
            return Direct(int(noisy), int(cells), each.variance, each.counts.size, number)
        arrays = read_only(noisy), read_only(cells)
        return Direct(*arrays, each.variance, each.counts.size, number)

    def _sampled(self, model: Model, many: int, coins: Coins) -> SyntheticRows:
        labels = tuple(tuple(self._domain.labels(each)) for each in range(len(self.columns)))
        return SyntheticRows(self._domain.names, labels, read_only(model.sampled(many, coins)))
