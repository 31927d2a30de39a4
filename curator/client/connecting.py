"""`connect`: the data sets of a curator, as queryables."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self
from weakref import WeakValueDictionary

from curator.client.remote import RemoteRoot, target_of
from curator.client.transport import TIMEOUT, Patience, Transport
from curator.client.urls import address_of
from curator.codec import CODEC, Codec
from curator.wire import DataSet, WireError, datasets_of
from curator.wire.outlines import layout_in, outline_of
from mechanisms.tables.front_door import FromTable
from queryable.handle import Queryable

_TOKEN = re.compile(r"[!-~]+")
_FIRST = 5.0


class Connection(Mapping[str, Queryable]):
    """The data sets that a token reaches, by name; each is a `Queryable`.

    Reconnects by itself. A message whose reply was lost is sent again under the same key, and is
    answered once.
    """

    def __init__(
        self,
        transport: Transport,
        codec: Codec,
        on_fault: Callable[[BaseException], object] | None,
    ) -> None:
        self._transport, self._codec, self._on_fault = transport, codec, on_fault
        self._roots: dict[str, RemoteRoot] = {}
        self._handles: WeakValueDictionary[str, Queryable] = WeakValueDictionary()

    def __getitem__(self, name: str) -> Queryable:
        handle = self._handles.get(name)
        if handle is None:
            handle = self._handles[name] = Queryable._over(self._root(name))
        return handle

    def _root(self, name: str) -> RemoteRoot:
        if name not in self._roots:
            found = self._data_set(name)
            self._roots[name] = RemoteRoot(
                *(self._transport, found.root, self._codec, self._on_fault),
                layout=layout_in(found.about),
                outline=_outline_in(found.about, name),
            )
        return self._roots[name]

    def _data_set(self, name: str) -> DataSet:
        """A data set, with its description.

        Raises:
            UnavailableError: the curator has not opened it in time.
        """
        found = self._listed(name)
        if not found.about:  # this curator has not opened the data yet
            self._transport.get(target_of(found.root))  # waits for it, or turns to another curator
            found = self._listed(name)
        return found

    def _listed(self, name: str) -> DataSet:
        known = {each.name: each for each in self._data_sets()}
        if name not in known:
            there = ", ".join(sorted(known)) or "none"
            raise KeyError(f"there is no data set {name!r} for this token; there are: {there}")
        return known[name]

    def _data_sets(self) -> tuple[DataSet, ...]:
        return datasets_of(self._transport.get("/v1/datasets"))

    def about(self, name: str) -> dict[str, Any]:
        """The public description of a data set: columns, privacy unit, max_rows, neighbours."""
        return self._data_set(name).about

    def table(self, name: str) -> FromTable:
        """The table of a data set, without its rows: its methods make statistics for `release`.

        `connection.table("visits").mean("age", 0, 120)` is what the method of the curator's `Table`
        gives, with the privacy unit filled in.
        """
        return outline_of(self.about(name), name.partition("/")[0])

    def __iter__(self) -> Iterator[str]:
        return iter([each.name for each in self._data_sets()])

    def __len__(self) -> int:
        return len(self._data_sets())

    def __repr__(self) -> str:
        return f"Connection({self._transport!r})"

    def close(self) -> None:
        """Close the connections; a further message makes a new one."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _outline_in(about: Mapping[str, Any], name: str) -> FromTable | None:
    try:
        return outline_of(about, name.partition("/")[0])
    except WireError:
        return None


def connect(
    url: str | Sequence[str],
    token: str | None = None,
    *,
    patience: float = 60.0,
    timeout: float | None = TIMEOUT,
    tls: Any = None,
    codec: Codec = CODEC,
    on_fault: Callable[[BaseException], object] | None = None,
) -> Connection:
    """Connect to a curator.

    Args:
        url: "unix:PATH", "https://HOST:PORT", or "http://127.0.0.1:PORT" on this machine. A list of
            them if several curators share a ledger: if one does not answer, the next one is asked.
        token: what the data's owner gave out; None on the owner's own socket.
        patience: seconds to try again while the curator does not answer.
        timeout: seconds to wait for one reply; None for ever. If the curator states a deadline, it
            is twice the deadline and 10 seconds at most. Then the message is sent again, under its
            key, and waited for as long as `patience` says.
        tls: an `ssl.SSLContext`, for certificates that the system does not know.
        codec: another one has mechanisms of a site.
        on_fault: called with exceptions of persons in the middle that run in this process.

    Raises:
        UnavailableError: the curator does not answer.
        AccessError: the token is unknown.
        WireError: the curator speaks another version of the protocol, or there is no curator, as
            at the address of its pages.

    Examples:
        from curator import connect
        connection = connect("unix:curator.sock", token="qy_...")
        visits, table = connection.table("visits"), connection["visits"]
        table.release(visits.count(column("age") >= 40), within=20)
    """
    urls = (url,) if isinstance(url, str) else tuple(url)
    if not urls:
        raise ValueError("give a url, or a list of them that is not empty")
    if token is not None and not (isinstance(token, str) and _TOKEN.fullmatch(token)):
        raise ValueError("token should be the text that the owner gave out, without white space")
    addresses = tuple(map(address_of, urls))
    transport = Transport(addresses, token, Patience(patience, timeout), tls)
    transport.get("/v1", seconds=min(patience, _FIRST))
    return Connection(transport, codec, on_fault)
