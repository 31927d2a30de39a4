"""Walk for long: `python -m tests.guard --cases 300000`. It prints what it finds.

--cases N    about so many cases, equally of every tag
--seed S     another seed gives other cases
--engines E  also on these, such as "table on arrow" (DuckDB); all: those that are installed
--share P    the share of what is about rows that is tried on an engine
--everything every tag that exists, and not only those that an analyst may send
--tags T,..  these tags only
"""

import sys
from argparse import ArgumentParser
from time import perf_counter

from tests.guard.walk import Effort, Key, Walk
from tests.guard.wire import analysts, everything
from tests.guard.worlds import available


def main() -> int:
    """Walk, and say what was found; 1 if anything was."""
    parser = ArgumentParser(prog="python -m tests.guard")
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tags", default="")
    parser.add_argument("--engines", default="")
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--everything", action="store_true")
    given = parser.parse_args()
    wire = everything() if given.everything else analysts()
    tags = [tag for tag in given.tags.split(",") if tag] or list(wire.by_tag)
    engines = tuple(each for each in given.engines.split(",") if each)
    engines = available() if engines == ("all",) else engines
    walk = Walk(wire, Effort(engines, given.share))
    start, shown = perf_counter(), set[Key]()
    for number in range(-(-given.cases // len(tags))):
        walk.run(given.seed * 10**9 + number, 1, tags)
        for key in sorted(walk.found.keys() - shown):
            sys.stdout.write(f"{walk.cases.total():,}: {walk.found[key]}\n")
            sys.stdout.flush()
        shown |= walk.found.keys()
    slow = sorted(walk.slowest.items(), key=lambda item: -item[1])[:3]
    told = ", ".join(f"{tag} {seconds:.2f} s" for tag, seconds in slow)
    sys.stdout.write(f"{walk}\n{perf_counter() - start:.0f} s; read slowest: {told}\n")
    return 1 if walk.found else 0


if __name__ == "__main__":
    sys.exit(main())
