"""Ask the queries of TPC-H: `python -m benchmarks.tpch`.

With `--save` it writes results.json here and docs/tpch.md. `python -m benchmarks.tpch files FOLDER`
writes what the scripts of other libraries read; their output is given back with `--smartnoise FILE`
and `--opendp FILE`, and is kept in results.json.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import attrs

from benchmarks.tpch import data
from benchmarks.tpch.flat import written
from benchmarks.tpch.page import page
from benchmarks.tpch.queries import QUERIES
from benchmarks.tpch.running import outcomes

HERE = Path(__file__).parent
RESULTS, PAGE = HERE / "results.json", HERE.parents[1] / "docs" / "tpch.md"
PEERS = ("smartnoise", "opendp")


def main(values: list[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tpch", description=__doc__)
    parser.add_argument("what", nargs="?", choices=["ask", "files"], default="ask")
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--save", action="store_true", help="write results.json and docs/tpch.md")
    parser.add_argument("--scale", type=float, default=data.SCALE)
    for name in PEERS:
        parser.add_argument(f"--{name}", type=Path, help="what its script printed")
    given = parser.parse_args(values)
    tables = data.tables(given.scale)
    if given.what == "files":
        if given.folder is None:
            parser.error("give a folder")
        given.folder.mkdir(parents=True, exist_ok=True)
        written(tables, given.folder)
        queries = [attrs.asdict(each) for each in QUERIES]
        (given.folder / "queries.json").write_text(json.dumps(queries), encoding="utf-8")
        return
    found = [attrs.asdict(each) for each in outcomes(tables)]
    for each in found:
        sys.stdout.write(
            f"{each['number']:2} {each['outcome']:9} {each['held']} of {each['numbers']} "
            f"{each['cost']} {each['refusal'][:80]}\n"
        )
    if given.save:
        rows = {name: table.num_rows for name, table in tables.items()}
        save({"scale": given.scale, "rows": rows, "queries": found, "peers": _peers(given)})


def _peers(given: argparse.Namespace) -> dict[str, Any]:
    """What the other libraries did: given now, or before."""
    known = json.loads(RESULTS.read_text(encoding="utf-8"))["peers"] if RESULTS.exists() else {}
    for name in PEERS:
        if (place := getattr(given, name)) is not None:
            known[name] = json.loads(place.read_text(encoding="utf-8"))
    return dict(known)


def save(found: dict[str, Any]) -> None:
    """Write the results and the page."""
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
