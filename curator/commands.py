"""The command line `curator`, for the owner of a ledger: what it holds, and whether it holds.

Each command is a function from its arguments to the text that is shown. Typer (extra `curator`)
reads the arguments.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import wraps
from importlib.resources import files
from pathlib import Path
from typing import Any

from curator.access import ROOT as ACCESS
from curator.access import access_of
from curator.closing import close as close_root
from curator.codec import CODEC, Codec
from curator.keys import make_key
from curator.ledgers import BrokenChainError, Event, Ledger, LedgerError, chained, ledger_of
from curator.logs.exports import exported, imported
from curator.owner import orders
from curator.owner.checking import check as check_analyses
from curator.owner.feeding import feed
from curator.owner.opened import OpenedLedger as _Opened
from curator.owner.opened import ReplayError
from curator.owner.orders import access_lines, running_lines
from curator.owner.reporting import reported
from curator.owner.retrying import retry
from curator.reports.reviewing import check_review, review
from curator.root import release as release_root
from curator.settings.configuration import NAME as _CONFIGURATION
from curator.settings.configuration import read_configuration
from curator.settings.file_errors import in_words
from curator.settings.sections import ConfigurationError
from curator.verify import Verified, verify
from curator.views import view
from queryable.display.nodes import CHARGED
from queryable.errors import InteractiveError

_IGNORED = """# Everything here is private but the configuration.
*
!.gitignore
!curator.toml
"""


def init(folder: Path) -> str:
    """Make a folder with a configuration, an empty ledger and a key that its owner alone reads.

    Of a folder that has a configuration, only the ledger that it names is made, if there is none.
    """
    if folder.is_file():
        raise LedgerError(f"{folder} is a file; name a folder")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    stated, ledger, key = (folder / name for name in (_CONFIGURATION, "ledger.db", "noise.key"))
    if stated.exists() and (text := _first_ledger(stated)):
        return text
    for path in (stated, ledger, key):
        if path.exists():
            raise LedgerError(f"there is a {path} already; nothing was changed")
    ignored = folder / ".gitignore"
    if not ignored.exists():
        ignored.write_text(_IGNORED, encoding="utf-8")
    make_key(key)
    ledger_of(ledger).close()
    initial = files("curator").joinpath("initial.toml").read_text(encoding="utf-8")
    stated.write_text(initial, encoding="utf-8")
    return (
        f"{stated} states data sets and budgets: edit it.\n"
        f"{key} is the key of the noise: it is as secret as the data.\n"
        f"For analysts in other processes: curator serve {folder}\n"
        f'In Python: visits, table = curator.open_configured("{stated}", "visits")'
    )


def _first_ledger(stated: Path) -> str:
    """Make the ledger of a configuration if it is not there; what was done, in words."""
    try:
        place = read_configuration(stated).ledger
        ledger_of(place, make=False).close()
    except ConfigurationError:
        return ""
    except LedgerError:
        with closing(ledger_of(place)) as ledger:
            return f"{ledger} is new: it knows nothing of what was spent before it"
    return ""


def status(place: str) -> str:
    """Two lines for each root: events and charges, after checking all of them; what is spent.

    Further lines are about a curator that runs, and about analysts.

    Args:
        place: a configuration, its folder, or a ledger.
    """
    with _Opened(place) as at:
        roots = at.ledger.roots()
        lines = [
            _checked(root, at.ledger.read(root), codec=at.codec)
            + ("" if root == ACCESS else _spent(at.ledger, root, at.codec))
            for root in roots
        ]
        if ACCESS in roots:
            lines += access_lines(access_of(at.ledger.read(ACCESS)))
    lines += [f"{name}: not opened yet" for name in at.datasets if name not in roots]
    if at.configuration is not None:
        lines += running_lines(at.configuration)
    return "\n".join(lines) or f"{place} has no roots"


def show(place: str, root: str, after: int = 0) -> str:
    """The events of a root, one a line."""
    with _Opened(place) as at:
        events = _of(at.ledger, root)[after:]
    return "\n".join(f"{each.seq:>6}  {each.kind:<9} {_briefly(each)}" for each in events)


def export(place: str, root: str) -> str:
    """The events of a root as lines of JSON, for `curator ledger verify` on another machine.

    The last line has their number and the last hash, so that a missing part is found.
    """
    with _Opened(place) as at:
        return "\n".join(exported(_of(at.ledger, root)))


def check(place: str, root: str = "", head: str = "") -> str:
    """Check a ledger, or a file of `curator ledger export`, without data and without key.

    Hashes, the order of events and all accounts are checked. With a root and a hash that was seen
    earlier, such as that of the last export, it is checked that the root goes on from there.
    """
    if place.endswith((".json", ".jsonl")):
        with Path(place).open(encoding="ascii", errors="replace") as lines:
            return _checked(root, imported(lines), head=head)
    if head and not root:
        raise LedgerError("give --root too: a hash belongs to one root")
    with _Opened(place) as at:
        with at.noted("ledger verify") as note:
            at.ledger.check()
            found = []
            for each in [root] if root else at.ledger.roots():
                events = _of(at.ledger, each)
                note(each, events[-1].hash, events=len(events))
                found.append(_checked(each, events, head=head, codec=at.codec))
        return ("\n".join(found) or f"{place} has no roots") + at.unnoted


def report(
    place: str = "",
    dataset: str = "",
    form: str = "",
    out: str = "",
    sign: str = "",
    check: str = "",
    signer: str = "",
) -> str:
    """What a reviewer asks of the curator in a folder; or of one data set, who asked what when.

    Needs neither data nor key. With --check, whether a review that was made earlier holds; with a
    folder too, whether its ledger goes on from the heads in the review.

    Args:
        place: a configuration or its folder; for one data set, or to check, a ledger too.
        dataset: a data set, for the report of its questions.
        form: markdown, html or json; of a data set md, html, csv or xlsx. By default that of the
            file's name, or Markdown.
        out: the file to write; by default the report is printed.
        sign: the file of a private key for Ed25519 that signs the review.
        check: the file of a review that is checked.
        signer: the owner's public key, in 64 hexadecimal digits or a file.
    """
    if check:
        if dataset or form or out or sign:
            raise LedgerError("--check takes a folder and --signer, and nothing else")
        if not place:
            return check_review(check, signer=signer)
        with _Opened(place) as at:
            return check_review(check, at.ledger, signer)
    if not place or signer:
        raise LedgerError("give a folder; and --signer with --check only")
    with _Opened(place) as at:
        if dataset:
            if sign:
                raise LedgerError("--sign is for the review of a folder: leave the data set out")
            return reported(at.ledger, dataset, at.codec, form, out)
        if at.configuration is None:
            roots = ", ".join(each for each in at.ledger.roots() if each != ACCESS)
            raise LedgerError(
                "give a configuration for the review of a curator, or a data set for the report "
                f"of its questions; there are: {roots or 'none'}"
            )
        return review(at.configuration, form, out, sign)


def close(place: str, root: str, key: str = "") -> str:
    """Close a root for good and destroy the file of its key. Answers and accounts stay.

    The key stays while another open root of the ledger uses it.
    """
    with _Opened(place) as at:
        left = close_root(at.ledger, root, key=key or at.key_of(root))
    return f"{root} is closed" + (f"; {left}" if left else "")


def charge(configuration: str, root: str) -> str:
    """Charge a root that is sealed, since its ledger has lost messages, up to its anchor's bound.

    Needs the data and the key. If the ledger is an old copy, all children of the root are retired.
    """
    with _Opened(configuration) as at:
        if at.configuration is None:
            raise LedgerError(
                "give a configuration: a ledger does not say where the data are. In Python: "
                "curator.open(..., anchor=..., charge_to_anchor=True)"
            )
        if at.configuration.anchor is None:
            raise LedgerError(f"{configuration} names no anchor")
        if root not in at.ledger.roots():
            raise LedgerError(
                f"there is no root {root!r}; there are: {', '.join(at.ledger.roots())}"
            )
    known = view(at.configuration.ledger, root, codec=at.codec)
    before, count = known.privacy_loss(), len(known.ledger())
    rows, table = at.configuration.open(root, charge_to_anchor=True)
    with rows:
        after, new = table.privacy_loss(), table.ledger()[count:]
        release_root(table)
    charged = [str(row.loss) for row in new if row.outcome == CHARGED]
    if not charged:
        return f"{root} goes on, and nothing was charged: {after}"
    return (
        f"{root} goes on, and was charged {' and '.join(charged)}: it had spent {before}, and has "
        f"now spent {after}"
    )


def replay(configuration: str, root: str = "") -> str:
    """Run the analysis of a data set, or of all, again, and compare each answer with the ledger.

    Needs the data and the key. Writes nothing to the ledger.

    Raises:
        ReplayError: there is a difference.
    """
    with _Opened(configuration) as at:
        if at.configuration is None:
            raise LedgerError(
                "give a configuration: a ledger does not say where the data are. In Python it is "
                "curator.replay(ledger, mechanism, data, name=..)"
            )
        roots = at.ledger.roots()
    stated, lines, same = at.configuration, [], True
    with at.noted("replay") as note:
        for each in [root] if root else [name for name in at.datasets if name in roots]:
            try:
                found = stated.replay(each)
            except LedgerError as error:
                if root:
                    raise
                lines.append(str(error))
            else:
                note(each, found.head, messages=found.messages)
                lines.append(str(found))
                same = same and found.difference is None
        text = "\n".join(lines) or f"{configuration} has no roots"
        if not same:
            raise ReplayError(text)
    return text + at.unnoted


def serve(file: Path) -> str:
    """Serve the data sets of a configuration until SIGTERM or SIGINT."""
    with _extra("the server needs starlette and uvicorn: pip install '.[server]' in a checkout"):
        from curator.service.serve import serve as run
    run(file)
    return "stopped"


def openapi() -> str:
    """The addresses of a curator, as an OpenAPI file."""
    with _extra("this needs starlette: pip install '.[server]' in a checkout"):
        from curator.service.openapi import written
    return written()


@contextmanager
def _extra(text: str) -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise LedgerError(text) from error


def _of(ledger: Ledger, root: str) -> list[Event]:
    events = list(chained(ledger.read(root)))
    if not events:
        raise LedgerError(f"there is no root {root!r}; there are: {', '.join(ledger.roots())}")
    return events


def _checked(root: str, events: Iterable[Event], *, head: str = "", codec: Codec = CODEC) -> str:
    """Check the events of a root, and say in a line what was checked."""
    kept = list(events)
    if (kept[0].root if kept else root) != ACCESS:
        return _line(verify(kept, head=head or None, codec=codec))
    access = access_of(chained(kept))
    if head and head not in {event.hash for event in kept}:
        raise BrokenChainError(f"root {ACCESS!r}: no event has the hash {head}")
    grants = sum(len(analyst.grants) for analyst in access)
    analysts = len(access.analysts)
    return (
        f"{ACCESS}: {len(kept)} event{'s' * (len(kept) != 1)}, "
        f"{analysts} analyst{'s' * (analysts != 1)}, "
        f"{grants} grant{'s' * (grants != 1)}; head {kept[-1].hash}"
    )


def _line(found: Verified) -> str:
    text = (
        f"{found.root}: {found.events} event{'s' * (found.events != 1)}, "
        f"{found.messages} message{'s' * (found.messages != 1)}, "
        f"{found.charges} charge{'s' * (found.charges != 1)} computed again, "
        f"{found.claims} compared with a stated loss"
    )
    if found.uncompared:
        text += f"; {found.uncompared} of mechanisms whose loss is not known here"
    for kind, number in found.unchecked.items():
        text += f"; {number} not computed ({kind})"
    text += f"; {found.batches}" if found.batches.batches else ""
    text += "; closed" if found.closed else ""
    text += "; the last message has no answer yet" if found.unanswered else ""
    return f"{text}; head {found.head}"


def _spent(ledger: Ledger, root: str, codec: Codec) -> str:
    """What a root has spent and its budget, as a further line; nothing if it does not tell."""
    try:
        seen = view(ledger, root, codec=codec)
        spent = seen.privacy_loss()
    except InteractiveError:
        return ""
    budget = getattr(seen._root.mechanism, "budget", None)
    return f"\n  spent {spent}" + ("" if budget is None else f" of {budget}")


def _briefly(event: Event) -> str:
    body = json.loads(event.body)
    where = "".join(f"[{child}]" for child in body.get("path", ()))
    said = " -> ".join(str(body[name]) for name in ("query", "answer") if name in body)
    text = f"{where} {said or event.body}".strip()
    return text if len(text) <= 160 else f"{text[:157]}..."


_EXPECTED = (InteractiveError, OSError, ValueError, ModuleNotFoundError)
"""Errors whose texts are for whoever typed the command."""


def _told(command: Callable[..., str]) -> Callable[..., None]:
    """A command that writes its text, or its error and exit code 1."""
    import typer

    @wraps(command)
    def told(*arguments: object, **named: object) -> None:
        try:
            text = command(*arguments, **named)
        except _EXPECTED as error:
            sys.stderr.write(f"{in_words(error)}\n")
            raise typer.Exit(1) from None
        if text:
            typer.echo(text)

    return told


def application() -> Any:
    """The command line as a function."""
    import typer

    from curator.agents.serving import mcp
    from curator.client.in_sql import sql

    app = typer.Typer(
        help="Private data sets with budgets on disk, and their analysts.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_show_locals=False,  # they may be the key or data
    )
    ledger = typer.Typer(help="Show, export and check the events.", no_args_is_help=True)
    app.command()(_told(init))
    app.command()(_told(status))
    app.command()(_told(close))
    app.command()(_told(charge))
    app.command()(_told(retry))

    @app.command("report", help=report.__doc__.partition("Args:")[0] if report.__doc__ else None)
    def _report(
        place: str = typer.Argument(""),
        dataset: str = typer.Argument(""),
        form: str = typer.Option("", "--format", help="markdown, html, json; or md, csv, xlsx"),
        out: str = typer.Option("", "--out", "--output", "-o", help="the file to write"),
        sign: str = typer.Option("", help="the file of a private key that signs the review"),
        check: str = typer.Option("", help="the file of a review that is checked"),
        signer: str = typer.Option("", help="the owner's public key: 64 digits, or a file"),
    ) -> None:
        _told(report)(place, dataset, form, out, sign, check, signer)

    @app.command("check", help=(check_analyses.__doc__ or "").partition("Returns:")[0])
    def _check(
        configuration: str,
        dataset: str = typer.Argument(""),
        neighbours: int = 1000,
        seed: int = 0,
        as_json: bool = typer.Option(False, "--json", help="the result as JSON"),
    ) -> None:
        try:
            text, holds = check_analyses(configuration, dataset, neighbours, seed, as_json=as_json)
        except Exception as error:  # whatever it is, nothing is known about the claims
            kind = "" if isinstance(error, _EXPECTED) else f"{type(error).__name__}: "
            sys.stderr.write(f"the check could not run: {kind}{in_words(error)}\n")
            raise typer.Exit(2) from None
        typer.echo(text)
        raise typer.Exit(0 if holds else 1)

    @app.command("replay", help=replay.__doc__)
    def _replay(configuration: str, root: str = typer.Argument("")) -> None:
        _told(replay)(configuration, root)

    @app.command("feed", help=feed.__doc__)
    def _feed(
        configuration: Path,
        dataset: str,
        file: str = typer.Argument(""),
        block: str = "",
        close: str = "",
        id: str = "",  # noqa: A002 (the option is --id)
        encoding: str = "",
    ) -> None:
        given = Path(file) if file else None
        _told(feed)(configuration, dataset, given, block, close, id, encoding)

    app.command("sql")(_told(sql))
    app.command("mcp")(_told(mcp))
    _add_server(app)
    ledger.command()(_told(show))
    ledger.command()(_told(export))
    ledger.command("verify")(_told(check))
    app.add_typer(ledger, name="ledger")
    return app


def _add_server(app: Any) -> None:
    import typer

    analyst = typer.Typer(help="Add, revoke and list analysts.", no_args_is_help=True)
    app.command()(_told(serve))
    app.command()(_told(openapi))
    app.command()(_told(orders.grant))
    app.command()(_told(orders.page))
    analyst.command("add")(_told(orders.add_analyst))
    analyst.command("revoke")(_told(orders.revoke_analyst))
    analyst.command("list")(_told(orders.list_analysts))
    app.add_typer(analyst, name="analyst")


def main() -> None:
    """Run the command that was typed."""
    try:
        run = application()
    except ModuleNotFoundError:
        sys.exit("the command line needs typer: pip install '.[curator]' in a checkout")
    run()
