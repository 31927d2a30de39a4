"""`Metrics`: numbers about the curator for its owner, in the text format of Prometheus.

They are per data set. Nothing is counted per analyst, and no query or answer is looked into.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from curator.wire import ANSWER, FAILED, HALTED, QUERY_ERROR, REFUSED

_BOUNDS = (
    *(0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0),
    60.0,
)
_MARKS = [(f'"kind":"{kind}"'.encode(), kind) for kind in (ANSWER, REFUSED, FAILED, HALTED)]
_WRONG = f'"kind":"{QUERY_ERROR}"'.encode()


def kind_of(body: bytes) -> str:
    """The kind of outcome of a reply, by how it ends: strings cannot hold these quotes."""
    end = body[-100:]
    for mark, kind in _MARKS:
        if mark in end:
            return kind
    return QUERY_ERROR if _WRONG in body[:300] else "other"


@attrs.define
class DurationHistogram:
    """How often durations were within bounds."""

    counts: list[int] = attrs.field(factory=lambda: [0] * (len(_BOUNDS) + 1))
    total: float = 0.0

    def add(self, seconds: float) -> None:
        """Count a duration."""
        self.counts[bisect_left(_BOUNDS, seconds)] += 1
        self.total += seconds

    def most(self, part: int, whole: int) -> float | None:
        """A bound that a part of the durations keep; None if there are none, or no bound."""
        below, wanted = 0, -(-part * sum(self.counts) // whole)
        for bound, count in zip(_BOUNDS, self.counts, strict=False):
            below += count
            if below >= wanted > 0:
                return bound
        return None

    def lines(self, name: str, labels: str) -> Iterator[str]:
        """Its lines in the text format."""
        below = 0
        for bound, count in zip((*map(str, _BOUNDS), "+Inf"), self.counts, strict=True):
            below += count
            yield f'{name}_bucket{{{labels},le="{bound}"}} {below}'
        yield f"{name}_sum{{{labels}}} {self.total}"
        yield f"{name}_count{{{labels}}} {below}"


class Metrics:
    """What has happened since the curator was started."""

    def __init__(self) -> None:
        self._outcomes: Counter[tuple[str, str]] = Counter()
        self._errors: Counter[int] = Counter()
        self._seconds: dict[str, DurationHistogram] = {}
        self._late: Counter[str] = Counter()

    def count(self, dataset: str, body: bytes, seconds: float, *, is_late: bool = False) -> None:
        """Count a message that has an outcome, and how long the worker took.

        Args:
            is_late: whether it took longer than a tick.
        """
        self._outcomes[dataset, kind_of(body)] += 1
        self._seconds.setdefault(dataset, DurationHistogram()).add(seconds)
        self._late[dataset] += is_late

    def times(self, dataset: str) -> dict[str, Any]:
        """How many messages there were, how many took longer than a tick, and what 99% took."""
        seconds = self._seconds.get(dataset, DurationHistogram())
        return {
            "messages": sum(seconds.counts),
            "late": self._late[dataset],
            "most": seconds.most(99, 100),
        }

    def error(self, status: int) -> None:
        """Count a reply with an error of transport."""
        self._errors[status] += 1

    def text(self, gauges: Iterable[tuple[str, str, str, float]] = ()) -> str:
        """All numbers.

        Args:
            gauges: further ones: name, kind ("counter" or "gauge"), data set and value.
        """
        lines = ["# TYPE curator_messages_total counter"]
        lines += [
            f'curator_messages_total{{dataset="{dataset}",outcome="{kind}"}} {count}'
            for (dataset, kind), count in sorted(self._outcomes.items())
        ]
        lines.append("# TYPE curator_errors_total counter")
        lines += [
            f'curator_errors_total{{status="{status}"}} {count}'
            for status, count in sorted(self._errors.items())
        ]
        lines.append("# TYPE curator_messages_late_total counter")
        lines += [
            f'curator_messages_late_total{{dataset="{dataset}"}} {count}'
            for dataset, count in sorted(self._late.items())
        ]
        lines.append("# TYPE curator_message_seconds histogram")
        for dataset, histogram in sorted(self._seconds.items()):
            lines += histogram.lines("curator_message_seconds", f'dataset="{dataset}"')
        typed = set()
        for name, kind, dataset, value in sorted(gauges):
            if name not in typed:
                typed.add(name)
                lines.append(f"# TYPE {name} {kind}")
            lines.append(f'{name}{{dataset="{dataset}"}} {value:g}')
        return "\n".join(lines) + "\n"
