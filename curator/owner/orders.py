"""What the owner orders of a curator: analysts, tokens, grants.

Responsible for giving an order to the curator that runs, over the owner's socket; and for carrying
it out here if none runs.
"""

import http.client
import json
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from curator.access import Access, AccessStore, Added, Revoked, analyst_row, hash_of, make_token
from curator.access.changes import checked_analyst
from curator.ledgers import ledger_of
from curator.service.web.granting import grant_of, granting_message
from curator.service.web.sockets import is_ours, owner_socket
from curator.settings.budgets import filter_of
from curator.settings.configuration import Configuration, read_configuration
from curator.settings.sections import Section
from curator.wire import HEADER, VERSION
from queryable.errors import InteractiveError

_TIMEOUT = 600.0


class OrderError(InteractiveError):
    """The curator has not carried out an order."""


class RefusedError(OrderError):
    """An order that is wrong, or cannot be carried out. Nothing has changed."""


class BusyError(OrderError):
    """The data set cannot be asked now."""


class LostReplyError(OrderError):
    """The curator has ended before it replied."""


class RunningCurator:
    """A curator that runs, as its owner asks it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def ask(self, verb: str, address: str, body: Any = None) -> Any:
        """The reply to a request, as values of JSON.

        Raises:
            OrderError: the curator refused.
            ConnectionError, FileNotFoundError: none runs.
        """
        connection = _Connection(self._path)
        try:
            text = None if body is None else json.dumps(body)
            connection.request(verb, address, text, {HEADER: str(VERSION)})
            reply = connection.getresponse()
            told = json.loads(reply.read())
        except http.client.RemoteDisconnected as error:
            raise LostReplyError("the curator has ended before it replied") from error
        except (http.client.HTTPException, ValueError) as error:
            raise OrderError(f"the curator's reply is not of this protocol: {error}") from error
        finally:
            connection.close()
        if reply.status != 200 and address != "/health":
            kind = _KINDS.get(reply.status, OrderError)
            raise kind(str(told.get("error", told)))
        return told


_KINDS = {409: RefusedError, 503: BusyError}


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("curator", timeout=_TIMEOUT)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))
        if not is_ours(self.sock):
            raise OrderError(f"the process at {self._path} belongs to another user")


def ordered(
    configuration: Configuration,
    running: Callable[[RunningCurator], Any],
    here: Callable[[AccessStore], Any],
) -> Any:
    """Give an order to the curator that runs; if none does, carry it out here."""
    with suppress(ConnectionError, FileNotFoundError):
        return running(RunningCurator(owner_socket(configuration.file)))
    ledger = ledger_of(configuration.ledger, make=False)
    try:
        return here(AccessStore(ledger))
    finally:
        ledger.close()


def add_analyst(file: Path, name: str) -> str:
    """Add an analyst, and print a token, which is shown this once."""
    checked_analyst(name)

    def here(store: AccessStore) -> Any:
        token = make_token()
        store.change(Added(name, hash_of(token)))
        return {"token": token}

    token = ordered(
        read_configuration(file),
        lambda curator: curator.ask("POST", "/v1/owner/analysts", {"name": name}),
        here,
    )["token"]
    return str(token)


def revoke_analyst(file: Path, name: str) -> str:
    """End the token of an analyst. What was granted stays, and what was spent stays spent."""
    checked_analyst(name)
    ordered(
        read_configuration(file),
        lambda curator: curator.ask("DELETE", f"/v1/owner/analysts/{name}"),
        lambda store: store.change(Revoked(name)),
    )
    return f"the token of {name} is revoked; their grants stay"


def page(file: Path) -> str:
    """Print a link that logs a browser in as the owner, once, within ten minutes."""
    configuration = read_configuration(file)
    place = configuration.page or configuration.listen
    if place.startswith("unix:"):
        raise OrderError(
            f"a browser cannot reach the socket that this curator listens on: add "
            f'page = "127.0.0.1:8090" to {configuration.file}, and start the curator again'
        )
    try:
        code = RunningCurator(owner_socket(configuration.file)).ask("POST", "/v1/owner/codes")[
            "code"
        ]
    except (ConnectionError, FileNotFoundError):
        raise OrderError(f"no curator runs: start it with `curator serve {file}`") from None
    scheme = "http" if configuration.tls is None else "https"
    host, _, port = place.rpartition(":")
    host = socket.gethostname() if host in {"0.0.0.0", "[::]", "::"} else host
    return f"{scheme}://{host}:{port}/enter?code={code}"


def list_analysts(file: Path) -> str:
    """The analysts, each with whether there is a token, and with their grants."""
    rows = ordered(
        read_configuration(file),
        lambda curator: curator.ask("GET", "/v1/owner/analysts")["analysts"],
        lambda store: [analyst_row(each) for each in store.read()],
    )
    return "\n".join(map(_line, rows)) or "there are no analysts"


def grant(
    file: Path,
    dataset: str,
    analyst: str,
    zcdp: str = "",
    epsilon: str = "",
    delta: str = "",
    gdp: str = "",
    rule: str = "",
) -> str:
    """Give an analyst a filter of their own on a data set, paid in full from its budget.

    Grants only add: another grant is another filter. The budget is one of the measures that the
    data set's own filter takes, such as --zcdp 1/50, or --epsilon 1 --delta 1e-6.
    """
    configuration = read_configuration(file)
    stated = configuration.dataset(dataset)
    options = {"zcdp": zcdp, "epsilon": epsilon, "delta": delta, "gdp": gdp, "rule": rule}
    budget = {name: value for name, value in options.items() if value}
    if not budget:
        raise OrderError("give a budget, such as --zcdp 1/50, or --epsilon 1 --delta 1e-6")
    section = Section(Path("the command line"), (), budget)
    mechanism = filter_of(section, int(stated.budget.d_in))
    if mechanism.budget == mechanism.budget.zero():
        raise OrderError(f"give a budget above 0: {mechanism.budget} allows no question")
    text = str(configuration.codec.encode(mechanism), "ascii")
    order = {"analyst": analyst, "dataset": dataset, "mechanism": json.loads(text)}
    title = ordered(
        configuration,
        lambda curator: curator.ask("POST", "/v1/owner/grants", order),
        lambda store: granted_here(store, configuration, dataset, analyst, text),
    )["title"]
    return f'{analyst} has {mechanism.budget} on {dataset}: connect(..., token=...)["{title}"]'


def granted_here(
    store: AccessStore, configuration: Configuration, dataset: str, analyst: str, mechanism: str
) -> Mapping[str, str]:
    """Launch the filter of a grant in this process, and store the grant."""
    from curator.service.answering.opening import opened

    sent = granting_message(store.read(), analyst, dataset, mechanism)
    service = opened(configuration, dataset)
    try:
        status, reply = service.service.tell((), sent.written(), None)
    finally:
        service.close()
    if status != 200:
        raise OrderError(json.loads(reply)["error"])
    after = store.change(grant_of(analyst, dataset, mechanism, sent, reply))
    return {"title": after.analysts[analyst].on(dataset)[-1].title}


def running_lines(configuration: Configuration) -> list[str]:
    """One line for each data set of the curator that runs; none if none runs."""
    with suppress(ConnectionError, FileNotFoundError):
        health = RunningCurator(owner_socket(configuration.file)).ask("GET", "/health")
        return [
            f"{name}: served, {row['state']}{': ' + row['text'] if row['text'] else ''}"
            + _times(row)
            for name, row in health["datasets"].items()
        ]
    return []


def _times(row: Mapping[str, Any]) -> str:
    """What the times of messages were, as a further line, so that an owner can choose a tick."""
    messages, late, tick = row["messages"], row["late"], row["tick"]
    if not messages:
        return ""
    told = f"\n  {messages} message{'s' * (messages != 1)} since it was started; "
    told += "1% took over a minute" if row["most"] is None else f"99% took at most {row['most']} s"
    if tick is None:
        return f"{told}; no tick"
    return f"{told}; {late} ({late / messages:.2%}) took longer than the tick of {tick:g} s"


def access_lines(access: Access) -> list[str]:
    """One line for each analyst."""
    return [_line(analyst_row(each)) for each in access]


def _line(row: Mapping[str, Any]) -> str:
    grants = ", ".join(grant["title"] for grant in row["grants"]) or "nothing yet"
    return f"{row['name']}: {'has a token' if row['token'] else 'no token'}; {grants}"
