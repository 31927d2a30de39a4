"""Write the conformance vectors: `python -m tests.vectors.generate`.

What is written depends on the code alone. docs/vectors.md describes the files.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.vectors import analyses, conversions, draws, laws, rules

FOLDER = Path(__file__).parent
FORMAT = "queryable vectors/1"
KINDS: dict[str, Callable[[], Iterator[dict[str, Any]]]] = {
    "analyses": analyses.vectors,
    "coins": draws.vectors,
    "conversions": conversions.vectors,
    "laws": laws.vectors,
    "rules": rules.vectors,
}
"""By the name of a file: its vectors."""

SHARED: dict[str, dict[str, Any]] = {"analyses": {"data": analyses.plain(analyses.DATA)}}
"""What all vectors of a file have in common."""


def text(kind: str) -> str:
    """A file: one vector a line."""
    head = {"format": FORMAT, "kind": kind, **SHARED.get(kind, {})}
    lines = ",\n".join(_compact(vector) for vector in KINDS[kind]())
    return f'{_compact(head)[:-1]},\n"vectors":[\n{lines}\n]}}\n'


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def main() -> None:
    """Write all files."""
    for kind in KINDS:
        (FOLDER / f"{kind}.json").write_text(text(kind), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
