"""Account for a ledger again with dp-accounting and OpenDP: `python -m benchmarks.second_opinion`.

LEDGER is a file with `ledger().to_events().to_json()`, a ledger of `curator.open`, or the folder or
configuration of a curator. The accountants run in an environment of their own, see README.md. The
exit status is 1 if one of their losses is above ours.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median

from benchmarks.second_opinion.analyses import analysis
from benchmarks.second_opinion.comparing import PYTHON, Compared, Subject, compared, subjects
from queryable.events.charges import Events
from queryable.losses.numbers import shown

LINES = 40


def arguments(values: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.second_opinion",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("ledger", nargs="?", help="JSON of events, a ledger, or a curator's folder")
    parser.add_argument("--root", default="", help="a root of the ledger (all)")
    parser.add_argument("--random", type=int, default=0, help="so many random analyses instead")
    parser.add_argument("--python", type=Path, default=PYTHON, help="of the accountants")
    parser.add_argument("--all", action="store_true", help=f"print more than {LINES} comparisons")
    read = parser.parse_args(values)
    if (read.ledger is None) != bool(read.random):
        parser.error("give either a ledger or --random")
    if not read.python.exists():
        parser.error(f"there is no {read.python}: benchmarks/second_opinion/README.md makes it")
    return read


def events_of(place: str, root: str = "") -> Iterator[tuple[str, Events]]:
    """The events of each root of a ledger, with its name; of JSON without a name."""
    path = Path(place)
    if path.suffix == ".json":
        yield "", Events.from_json(path.read_text(encoding="utf-8"))
        return
    from curator.access import ROOT as ACCESS
    from curator.codec import CODEC
    from curator.ledgers import ledger_of
    from curator.settings.configuration import NAME, read_configuration
    from curator.views import view

    path = path / NAME if path.is_dir() else path
    stated = read_configuration(path) if path.suffix == ".toml" else None
    at, codec = (place, CODEC) if stated is None else (stated.ledger, stated.codec)
    with ExitStack() as held:
        ledger = held.enter_context(closing(ledger_of(at, make=False)))
        roots = [each for each in ledger.roots() if each != ACCESS]
        if root and root not in roots:
            raise SystemExit(f"there is no root {root!r}; there are: {', '.join(roots)}")
        for name in [root] if root else roots:
            yield name, view(ledger, name, codec=codec).ledger().to_events()


def asked(read: argparse.Namespace) -> Iterator[Subject]:
    if read.random:
        for number in range(read.random):
            yield from subjects(analysis(number)[1], f"analysis {number}: ")
        return
    for name, events in events_of(read.ledger, read.root):
        yield from subjects(events, f"{name}: " if name else "")


def lines(found: Iterable[Compared], most: int | None) -> Iterator[str]:
    """The comparisons with the smallest ratio first, and a summary of each accountant."""
    rows = sorted(found, key=lambda each: (each.holds, each.ratio or float("inf")))
    for each in rows[:most]:
        ratio = "" if each.ratio is None else f"  ratio {each.ratio:.6g}"
        where = f"{each.name}: {each.at} by {each.by}"
        above = "" if each.holds else "  ABOVE OURS"
        yield f"{where}: ours {shown(each.ours)}, theirs {each.theirs:.6g}{ratio}{above}"
    if most is not None and len(rows) > most:
        yield f"... {len(rows) - most:,} more; --all prints them"
    for by in sorted({each.by for each in rows}):
        own = [each for each in rows if each.by == by]
        ratios = [each.ratio for each in own if each.ratio is not None]
        spread = f"from {min(ratios):.6g}, median {median(ratios):.4g}" if ratios else "none"
        above = sum(not each.holds for each in own)
        yield f"{by}: {len(own):,} comparisons, {above:,} above ours; ours/theirs {spread}"
    if not rows:
        yield "nothing to compare: no charge has draws that the accountants know"


def main(values: list[str] | None = None) -> int:
    read = arguments(values)
    found = list(compared(asked(read), read.python))
    print("\n".join(lines(found, None if read.all else LINES)))
    return 0 if all(each.holds for each in found) else 1


if __name__ == "__main__":
    sys.exit(main())
