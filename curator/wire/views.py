"""What a client reads: data sets, the description of a root, and its exchanges page by page."""

from collections.abc import Iterable
from typing import Any

import attrs

from curator.wire.bodies import REPLY_LIMITS, Head, a_path
from curator.wire.texts import (
    a_count,
    a_duration,
    a_text,
    a_text_or_null,
    a_value,
    anything,
    dumped,
    fields_of,
    listed,
    loaded,
    text_of,
)
from queryable.checks.protection import Protected
from queryable.running.handles import Path

PAGE = 1000
"""The most exchanges of a page."""

_MOST = 10**6


@attrs.frozen
class DataSet:
    """A data set that a token reaches.

    Attributes:
        name: as in `connect(...)[name]`.
        root: the root's id in addresses.
        about: its public description, as JSON has it: columns and types, privacy unit, max_rows,
            neighbours.
    """

    name: str
    root: str
    about: dict[str, Any]


def datasets_text(datasets: Iterable[DataSet]) -> bytes:
    """The body of `GET /v1/datasets`."""
    rows = [{"about": each.about, "name": each.name, "root": each.root} for each in datasets]
    return dumped({"datasets": rows}).encode()


def datasets_of(body: bytes) -> tuple[DataSet, ...]:
    """Read the body of `GET /v1/datasets`.

    Raises:
        WireError: it is not of this protocol.
    """
    reads = {"name": a_text, "root": a_text, "about": anything}

    def one(value: Any, name: str) -> DataSet:
        return DataSet(**fields_of(value, reads, name))

    whole = loaded(text_of(body, REPLY_LIMITS))
    found: tuple[DataSet, ...] = fields_of(whole, {"datasets": listed(one, _MOST)}, "a reply")[
        "datasets"
    ]
    return found


@attrs.frozen
class RootDescription:
    """The description of a root: the body of `GET /v1/roots/{root}`.

    Attributes:
        mechanism, opening: the mechanism at the token's path and its opening answer, as the codec's
            texts.
        protects: who is protected, in words.
        seq, head: as in `Told`, now.
        tick, deadline: in seconds; None if there is none.
    """

    mechanism: str
    opening: str
    protects: Protected
    seq: int
    head: Head
    tick: float | None = None
    deadline: float | None = None

    def written(self) -> bytes:
        """The body."""
        words = self.protects
        rest = dumped({"deadline": self.deadline, "head": None})[:-5]
        protects = dumped({"extent": words.extent, "unit": words.unit, "whose": words.whose})
        return (
            f'{rest}{self.head.text},"mechanism":{self.mechanism},"opening":{self.opening},'
            f'"protects":{protects},"seq":{self.seq},"tick":{dumped(self.tick)}}}'
        ).encode()

    @classmethod
    def read(cls, body: bytes) -> "RootDescription":
        """Read a body.

        Raises:
            WireError: it is not of this protocol.
        """
        return cls(**fields_of(loaded(text_of(body, REPLY_LIMITS)), _DESCRIBED, "a reply"))


def _protected(value: Any, name: str) -> Protected:
    reads = {"unit": a_text, "extent": a_text, "whose": a_text_or_null}
    return Protected(**fields_of(value, reads, name))


_DESCRIBED = {
    "mechanism": a_value,
    "opening": a_value,
    "protects": _protected,
    "seq": a_count,
    "head": Head.of,
    "tick": a_duration,
    "deadline": a_duration,
}


@attrs.frozen
class ShownExchange:
    """An exchange of a page.

    Attributes:
        path: from the mechanism that the token is bound to.
        query, answer: the codec's texts; the answer with its receipt.
        receipts: those of compositors at or below the token's path whose charges changed.
        name: that of the launch; None if it has none.
    """

    path: Path
    query: str
    answer: str
    receipts: tuple[str, ...] = ()
    name: str | None = None

    @property
    def written(self) -> str:
        """As JSON."""
        return (
            f'{{"answer":{self.answer},"name":{dumped(self.name)},"path":{dumped(self.path)},'
            f'"query":{self.query},"receipts":[{",".join(self.receipts)}]}}'
        )

    @classmethod
    def of(cls, value: Any, name: str) -> "ShownExchange":
        """Read an exchange."""
        return cls(**fields_of(value, _SHOWN, name))


_SHOWN = {
    "path": a_path,
    "query": a_value,
    "answer": a_value,
    "receipts": listed(a_value, _MOST),
    "name": a_text_or_null,
}


@attrs.frozen
class Page:
    """Some exchanges, in order: the body of `GET /v1/roots/{root}/view?after=N`.

    Attributes:
        exchanges: number N + 1 and those after it, at most `PAGE`.
        seq, head: as in `Told`, now.
    """

    exchanges: tuple[ShownExchange, ...]
    seq: int
    head: Head

    def written(self) -> bytes:
        """The body."""
        rows = ",".join(each.written for each in self.exchanges)
        return f'{{"exchanges":[{rows}],"head":{self.head.text},"seq":{self.seq}}}'.encode()

    @classmethod
    def read(cls, body: bytes) -> "Page":
        """Read a body.

        Raises:
            WireError: it is not of this protocol.
        """
        reads = {"exchanges": listed(ShownExchange.of, PAGE), "seq": a_count, "head": Head.of}
        return cls(**fields_of(loaded(text_of(body, REPLY_LIMITS)), reads, "a reply"))
