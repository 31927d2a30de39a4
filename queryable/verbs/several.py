"""Several launches, queries or releases at once: what the handle has for them.

Responsible for the methods. How a message with several entries is sent is in
`queryable.running.many`.
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from queryable.answers.released import Released
from queryable.errors import QueryError
from queryable.losses import Loss
from queryable.losses.numbers import Number
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.messages import (
    Answer,
    AskMany,
    Failed,
    Halted,
    Launch,
    LaunchMany,
    Query,
    Refused,
    entries_in,
    entry,
)
from queryable.running.handles import Path
from queryable.running.many import tell_many
from queryable.running.names import checked_names
from queryable.running.roots import Root
from queryable.statistics import Releasable
from queryable.streams.blocks import BlockName, Last, LaunchOver
from queryable.verbs.over_blocks import launch_of
from queryable.verbs.plans import ReleasePlan
from queryable.verbs.releasing import Releasing, chosen, require_one_aim, require_releasable

_ADVISED = 8  # to find what would fit takes longer than a refusal


class Several(Releasing):
    """The methods of `Queryable` that take several launches, queries or statistics."""

    __slots__ = ()

    _root: Root
    _path: Path

    @abstractmethod
    def _delivered(self, path: Path, answer: Answer) -> Any:
        """What the analyst gets for an answer; raises for a refusal or failure."""

    def launch_many(
        self,
        mechanisms: Iterable[InteractiveMechanism[Any] | Launch | LaunchOver],
        *,
        names: Iterable[str | None] | None = None,
    ) -> tuple[Any, ...]:
        """Launch several mechanisms: the same as one `launch` after the other, in fewer scans.

        All launches are checked, then charged in order, and only then a `Table` is read, once for
        all of them where its engine can. Each is an exchange of its own in `view` and `ledger`.

        Args:
            mechanisms: mechanisms, or `Launch(mechanism, d_out)`, or for blocks of data
                `LaunchOver(mechanism, blocks)`.
            names: a name or None for each, as for `launch`.

        Returns:
            For each launch, in order, what `launch` returns. Instead of an exception, the value of
            a launch that was not admitted is `Refused`, or `Halted`, and of one that failed
            `Failed`.

        Raises:
            QueryError: an entry is wrong; nothing is charged. It says which, counted from 0.
        """
        given = [
            each if isinstance(each, Launch | LaunchOver) else Launch(each)
            for each in entries_in(mechanisms)
        ]
        called = checked_names(None if names is None else entries_in(names), len(given))
        return self._outcomes(self._path, LaunchMany(given), called) if given else ()

    def ask_many(self, queries: Iterable[Query]) -> tuple[Any, ...]:
        """Ask several queries: the same as one `ask` after the other, in fewer scans.

        A sparse vector has a `Table` read the statistics together. Where a mechanism does not
        answer several queries at once, they are asked one by one. The values are those that `ask`
        returns, with `Refused`, `Halted` and `Failed` instead of exceptions. If they are asked one
        by one and a later one is wrong, its value is `Refused` too.

        Raises:
            QueryError: a query is wrong; nothing has changed. It says which, counted from 0.
        """
        given = entries_in(queries)
        return self._outcomes(self._path, AskMany(given), ()) if given else ()

    def _outcomes(
        self, path: Path, query: LaunchMany | AskMany, names: tuple[str | None, ...]
    ) -> tuple[Any, ...]:
        told = tell_many(self._root, path, query, names)
        return tuple(self._outcome(where, answer) for where, answer in told)

    def release_many(
        self,
        statistics: Iterable[Releasable] | ReleasePlan,
        *,
        within: Number | None = None,
        confidence: Number | None = None,
        loss: Loss | None = None,
        names: Iterable[str | None] | None = None,
        blocks: Sequence[BlockName] | Last | None = None,
    ) -> tuple[Any, ...]:
        """Release several statistics of a table, each as by `release`, in as few scans as possible.

        Args:
            statistics: statistics, or a plan of `composition.advice.plan`, which says what each
                release may cost.
            within, confidence, loss: for each statistic, as in `release`.
            names: as in `launch_many`; by default those of the plan.
            blocks: the blocks of the data to read, the same for all, as for `launch_over`.

        Returns:
            As `launch_many`: a `Released` for each statistic, in order.

        Raises: as `release`; the error says which statistic is wrong, counted from 0.
        """
        if isinstance(statistics, ReleasePlan):
            return self._planned(statistics, within, loss, names, blocks)
        require_one_aim(within, loss)
        given, measurements = entries_in(statistics), []
        for place, statistic in enumerate(given):
            with entry(place):
                require_releasable(statistic)
        stated = self._stated() if given else None
        for place, statistic in enumerate(given):
            with entry(place):
                measurements.append(chosen(statistic, stated, within, confidence, loss))
        outcomes = list(self._released(measurements, names, blocks))
        refused = [place for place, each in enumerate(outcomes) if isinstance(each, Refused)]
        for place in refused[:_ADVISED]:
            fits = self._what_fits(given[place], stated, within, confidence, blocks)
            if fits:
                outcomes[place] = attrs.evolve(outcomes[place], instead=fits)
        return tuple(outcomes)

    def _planned(
        self,
        plan: ReleasePlan,
        within: Number | None,
        loss: Loss | None,
        names: Iterable[str | None] | None,
        blocks: Sequence[BlockName] | Last | None,
    ) -> tuple[Any, ...]:
        if within is not None or loss is not None:
            raise QueryError("leave within and loss out: the plan says what each release may cost")
        named = [row.name for row in plan] if names is None else names
        return self._released([row.measurement for row in plan], named, blocks)

    def _released(
        self,
        measurements: Sequence[Measurement[Released]],
        names: Iterable[str | None] | None,
        blocks: Sequence[BlockName] | Last | None,
    ) -> tuple[Any, ...]:
        return self.launch_many([launch_of(it, blocks) for it in measurements], names=names)

    def _outcome(self, path: Path, answer: Answer) -> Any:
        """One of several answers: a refusal or failure is its value, so that none is lost."""
        declined = isinstance(answer, Refused | Halted | Failed)
        return answer if declined else self._delivered(path, answer)
