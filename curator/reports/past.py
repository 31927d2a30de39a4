"""What was checked earlier, as `checks.jsonl` beside the ledger tells: one check a line.

Responsible for reading lines with `time`, `command`, `head`, `result` and `facts`. A text that a
check wrote may quote values of the data, such as an answer that differs, so no text is taken over:
only known words, and numbers with known names.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs

NAME = "checks.jsonl"
"""The file, in the folder of the ledger; of the configuration, if the ledger is on a server."""

COMMANDS = ("ledger verify", "replay", "check")
"""The commands of `curator` that record what they found."""

_RESULTS = ("passed", "failed")
_COUNTS = ("events", "messages", "charges", "claims", "refusals", "neighbours")


@attrs.frozen
class PastCheck:
    """A check of one root, or of several.

    Attributes:
        time: when, in UTC; empty if the line does not tell.
        command: one of `COMMANDS`, or "unknown".
        heads: the hashes of the last events that it saw, in hexadecimal digits.
        result: "passed", "failed" or "unknown".
        counts: what was compared, by name.
    """

    time: str
    command: str
    heads: tuple[str, ...]
    result: str
    counts: tuple[tuple[str, int], ...]


def past_checks(path: Path) -> tuple[tuple[PastCheck, ...], int]:
    """The checks of a file, oldest first, and the number of lines that are none."""
    if not path.exists():
        return (), 0
    found, wrong = [], 0
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            found.append(_check(json.loads(line)))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
            wrong += bool(line.strip())
    return tuple(found), wrong


def _check(said: Mapping[str, Any]) -> PastCheck:
    command, result = said["command"], said["result"]
    facts = said.get("facts") or {}
    counts = [(name, facts[name]) for name in _COUNTS if type(facts.get(name)) is int]
    return PastCheck(
        _time(said["time"]),
        command if command in COMMANDS else "unknown",
        tuple(_heads(said.get("head"))),
        result if result in _RESULTS else "unknown",
        tuple(counts),
    )


def _heads(head: Any) -> Iterator[str]:
    for each in head.values() if isinstance(head, Mapping) else [head]:
        if isinstance(each, str):
            yield each


def _time(said: Any) -> str:
    if isinstance(said, str):
        on = datetime.fromisoformat(said).astimezone(UTC)
    else:
        on = datetime.fromtimestamp(float(said), UTC)
    return f"{on:%Y-%m-%d %H:%M:%S}"
