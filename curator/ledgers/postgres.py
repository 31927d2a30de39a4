"""`PostgresLedger`: a ledger in a Postgres database that several machines share.

Theory of operation. Each append, and each change of a lease, is one transaction that first takes an
advisory lock for each of its roots, in the order of their numbers. Times are those of the server.
Where the connection is lost during a commit, the ledger connects again and looks whether the events
are there: their hashes tell them from any others. So an append is repeated only where nothing was
stored.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, LiteralString, TypeVar

from curator.ledgers.errors import LeaseError, LedgerError, LedgerFullError, UnknownOutcomeError
from curator.ledgers.events import Event, fields_of
from curator.ledgers.groups import Group, Wish
from curator.ledgers.ledger import SCHEMA, admit, is_gone, missing, paged

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")

_PATIENCE = 20.0  # seconds to wait for a server that restarts
_EVENTS: LiteralString = """
    SELECT root, seq, epoch, kind, body, hash FROM curator_events
    WHERE root = %s AND seq > %s ORDER BY seq LIMIT %s
"""

_TABLES = """
CREATE TABLE curator_schema (version integer NOT NULL);
CREATE TABLE curator_events (
    root text NOT NULL,
    seq bigint NOT NULL CHECK (seq > 0),
    epoch bigint NOT NULL CHECK (epoch > 0),
    kind text NOT NULL,
    body text NOT NULL,
    hash text NOT NULL CHECK (length(hash) = 64),
    UNIQUE (root, seq)
);
CREATE TABLE curator_leases (
    root text PRIMARY KEY,
    epoch bigint NOT NULL CHECK (epoch > 0),
    holder text,
    until timestamptz NOT NULL
);
CREATE FUNCTION curator_events_only_grow() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE 'events of a ledger cannot be changed or deleted'; END $$;
CREATE FUNCTION curator_epochs_only_grow() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN
        IF TG_OP <> 'UPDATE' THEN RAISE 'leases cannot be deleted'; END IF;
        IF new.epoch < old.epoch THEN RAISE 'epochs only grow'; END IF;
        RETURN new;
    END $$;
CREATE TRIGGER only_grow BEFORE UPDATE OR DELETE OR TRUNCATE ON curator_events
    FOR EACH STATEMENT EXECUTE FUNCTION curator_events_only_grow();
CREATE TRIGGER only_grow BEFORE UPDATE OR DELETE ON curator_leases
    FOR EACH ROW EXECUTE FUNCTION curator_epochs_only_grow();
CREATE TRIGGER not_emptied BEFORE TRUNCATE ON curator_leases
    FOR EACH STATEMENT EXECUTE FUNCTION curator_epochs_only_grow();
"""


class PostgresLedger:
    """A ledger in a Postgres database. Its tables are made if they are not there.

    Threads may share it. Curators on any number of machines may use the same database.

    Args:
        url: the database, as in `postgresql://user@host/database`.
        make: whether to make the tables if they are not there.

    Raises:
        LedgerError: they are of another version or program, or not there and not to be made.
    """

    def __init__(self, url: str, *, make: bool = True) -> None:
        self.url = url
        self._using = threading.RLock()
        self._group = Group(self._commit)
        self._closed = False
        self._connection: psycopg.Connection[Any] | None = None
        try:
            self._do(partial(_prepare, make=make))
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"PostgresLedger({_without_password(self.url)!r})"

    def append(self, root: str, events: Sequence[Event]) -> None:
        """Store events; see `Ledger.append`."""
        self._group.append(root, events)

    def read(self, root: str, after: int = 0) -> Iterator[Event]:
        """The events of a root; see `Ledger.read`."""
        return paged(after, lambda start, count: self._rows(_EVENTS, (root, start, count)))

    def lease(self, root: str, holder: str, ttl: float) -> int:
        """Become the writer of a root; see `Ledger.lease`."""

        def take(connection: "psycopg.Connection[Any]", _: bool) -> int:
            _lock(connection, [root])
            lease = connection.execute(
                "SELECT epoch, holder, extract(epoch FROM until - clock_timestamp())::float "
                "FROM curator_leases WHERE root = %s",
                (root,),
            ).fetchone()
            epoch, other, left = lease or (0, None, 0.0)
            if other not in {None, holder} and left > 0 and not is_gone(other):
                raise LeaseError(
                    f"root {root!r} is held by {other} for another {left:.1f} s; stop it, "
                    "or wait until the lease has ended"
                )
            connection.execute(
                "INSERT INTO curator_leases VALUES "
                "(%s, %s, %s, clock_timestamp() + make_interval(secs => %s)) "
                "ON CONFLICT (root) DO UPDATE SET "
                "epoch = excluded.epoch, holder = excluded.holder, until = excluded.until",
                (root, epoch + 1, holder, ttl),
            )
            return int(epoch) + 1

        return self._do(take)

    def renew(self, root: str, epoch: int, ttl: float) -> None:
        """Hold the lease longer; see `Ledger.renew`."""
        renewed = self._rows(
            "UPDATE curator_leases SET until = clock_timestamp() + make_interval(secs => %s) "
            "WHERE root = %s AND epoch = %s AND holder IS NOT NULL RETURNING epoch",
            (ttl, root, epoch),
        )
        if not renewed:
            raise LeaseError(f"another writer took root {root!r} over, or it was released")

    def release(self, root: str, epoch: int) -> None:
        """Give the lease back; see `Ledger.release`."""
        self._rows(
            "UPDATE curator_leases SET holder = NULL WHERE root = %s AND epoch = %s "
            "RETURNING epoch",
            (root, epoch),
        )

    def roots(self) -> tuple[str, ...]:
        """The names of the roots, sorted."""
        rows = self._rows("SELECT DISTINCT root FROM curator_events")
        return tuple(sorted(root for (root,) in rows))

    def check(self) -> None:
        """Does nothing: the owner of the server looks for damage with Postgres's tools."""

    def close(self) -> None:
        """Close the connection."""
        with self._using:
            self._closed = True
            if self._connection is not None:
                self._connection.close()

    def _commit(self, wishes: Sequence[Wish]) -> None:
        self._do(lambda connection, again: _append(connection, again, wishes))

    def _rows(self, statement: LiteralString, arguments: Sequence[Any] = ()) -> list[Any]:
        return self._do(lambda connection, _: connection.execute(statement, arguments).fetchall())

    def _do(self, work: "Callable[[psycopg.Connection[Any], bool], T]") -> T:
        """Do something in one transaction.

        Where the connection is lost, `work` is called again, with True: the transaction may have
        been committed or not.
        """
        import psycopg

        deadline, again = time.monotonic() + _PATIENCE, False
        with self._using:
            while True:
                connection = self._connected()
                try:
                    with connection.transaction():
                        return work(connection, again)
                except psycopg.errors.DiskFull as error:
                    raise LedgerFullError(f"the disk of {self} is full") from error
                except (psycopg.OperationalError, psycopg.InterfaceError) as error:
                    connection.close()
                    if time.monotonic() > deadline:
                        raise UnknownOutcomeError(f"the connection of {self} is lost") from error
                    again = True
                except psycopg.Error as error:
                    raise LedgerError(f"{self}: {error}") from error

    def _connected(self) -> "psycopg.Connection[Any]":
        """The connection; a new one where it was lost. A server may take time to restart."""
        import psycopg

        if self._closed:
            raise LedgerError(f"{self} is closed")
        deadline = time.monotonic() + (0 if self._connection is None else _PATIENCE)
        while self._connection is None or self._connection.closed:
            try:
                self._connection = psycopg.connect(self.url, autocommit=True)
                self._connection.execute("SET synchronous_commit = on")
            except psycopg.OperationalError as error:
                if time.monotonic() >= deadline:
                    raise LedgerError(f"{self} cannot be reached: {error}") from error
                time.sleep(0.1)
        return self._connection


def _append(connection: "psycopg.Connection[Any]", again: bool, wishes: Sequence[Wish]) -> None:
    """Store events. If this is done again, they may be stored already."""
    roots = list({wish.root for wish in wishes})
    _lock(connection, roots)
    heads = {
        root: ((seq or 0, text or ""), epoch)
        for root, seq, text, epoch in connection.execute(
            "SELECT name, seq, hash, epoch FROM unnest(%s::text[]) AS name "
            "LEFT JOIN LATERAL (SELECT seq, hash FROM curator_events WHERE root = name "
            "ORDER BY seq DESC LIMIT 1) AS head ON true "
            "LEFT JOIN curator_leases AS lease ON lease.root = name AND holder IS NOT NULL",
            (roots,),
        ).fetchall()
    }
    rows: list[tuple[Any, ...]] = []
    for wish in wishes:
        wish.error = None
        head, epoch = heads[wish.root]
        if again and wish.events and head == (wish.events[-1].seq, wish.events[-1].hash):
            continue  # a commit before this one stored them
        try:
            admit(wish.root, wish.events, head, epoch)
        except LedgerError as error:
            wish.error = error
            continue
        rows += map(fields_of, wish.events)
        if wish.events:
            heads[wish.root] = ((wish.events[-1].seq, wish.events[-1].hash), epoch)
    if rows:
        columns: list[list[Any]] = [list(column) for column in zip(*rows, strict=True)]
        connection.execute(
            "INSERT INTO curator_events SELECT * FROM unnest"
            "(%s::text[], %s::bigint[], %s::bigint[], %s::text[], %s::text[], %s::text[])",
            columns,
        )


def _lock(connection: "psycopg.Connection[Any]", roots: Sequence[str]) -> None:
    """Take the advisory locks of roots until the transaction ends, always in the same order."""
    connection.execute(
        "SELECT pg_advisory_xact_lock(number) FROM (SELECT DISTINCT hashtextextended(name, 17) "
        "AS number FROM unnest(%s::text[]) AS name ORDER BY number) AS numbers",
        (list(roots),),
    )


def _prepare(connection: "psycopg.Connection[Any]", _: bool, *, make: bool) -> None:
    """Make the tables, or check that they are those of this version."""
    connection.execute("SELECT pg_advisory_xact_lock(17, 17)")
    names = {
        name
        for (name,) in connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
        ).fetchall()
    }
    if "curator_schema" in names:
        found = connection.execute("SELECT version FROM curator_schema").fetchall()
        if found != [(SCHEMA,)]:
            version = found[0][0] if found else "none"
            raise LedgerError(
                f"the ledger has schema version {version}; this curator reads version {SCHEMA}"
            )
    elif names & {"curator_events", "curator_leases"}:
        raise LedgerError("the database has a table curator_events of another program")
    elif not make:
        raise missing("in the database")
    else:
        connection.execute(_TABLES)
        connection.execute("INSERT INTO curator_schema VALUES (%s)", (SCHEMA,))


def _without_password(url: str) -> str:
    scheme, _, rest = url.partition("://")
    user, at, place = rest.rpartition("@")
    return f"{scheme}://{user.partition(':')[0]}{at}{place.partition('?')[0]}"
