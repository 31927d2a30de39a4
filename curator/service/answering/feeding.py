"""`Feeder`: gives a root what its owner feeds, once for each id, however often it is sent.

Responsible for the order of things. The file is in the folder of batches before its id is sent; it
is read as a whole and fingerprinted; the event is durable before the state moves. So a process may
end at any moment: a message whose event is on disk is answered from the log when it is sent again,
and another one has changed nothing.
"""

from typing import Any

from curator.codec import Codec
from curator.logs.batch_files import BatchFolder, checked_id
from curator.logs.journal import LedgerJournal
from curator.wire.feeds import Fed, Feeding
from queryable.errors import InteractiveError, QueryError
from queryable.messages import CloseBlock, Update
from queryable.running.root import MemoryRoot
from queryable.verbs.feeding import Feed

_NO_FOLDER = (
    'name a folder for the files of batches, as batches = "batches" in the table of this data set, '
    "and start the curator again; nothing has changed"
)


class WrongOrderError(InteractiveError):
    """What the owner feeds is wrong; nothing has changed."""


class Feeder:
    """Feeds a root that is open.

    Args:
        folder: with the files of batches; None if the configuration names none.
    """

    def __init__(
        self, root: MemoryRoot, journal: LedgerJournal, codec: Codec, folder: BatchFolder | None
    ) -> None:
        self._root, self._journal, self._codec, self._folder = root, journal, codec, folder
        self._findings: list[str] = []

    def note(self, misread: Any) -> None:
        """Keep what could not be read, for the reply."""
        self._findings += misread.findings

    def take(self, body: bytes) -> bytes:
        """Feed, and return the reply: whether it was fed before, and how many batches there are.

        Raises:
            WireError, WrongOrderError: it is wrong; nothing has changed.
        """
        order = Feeding.read(body)
        try:
            return self._taken(order)
        except QueryError as error:
            raise WrongOrderError(str(error)) from None

    def _taken(self, order: Feeding) -> bytes:
        message = self._message(order)
        batches = self._journal.batches
        number = batches.known(message, checked_id(order.id))
        self._findings = []
        if number is None:
            if isinstance(message, Update):
                require_readable(message.records)
            self._journal.feeding = order.id
            try:
                feed = Feed(self._root)
                feed(message) if isinstance(message, Update) else feed.close(message.block)
            finally:
                self._journal.feeding = None
        batch = None if order.close else number or batches.course.batches
        return Fed(number is not None, batch, self._findings).written()

    def _message(self, order: Feeding) -> Update | CloseBlock:
        block = self._codec.decode(order.block)
        if order.close:
            return CloseBlock(block)
        if self._folder is None:
            raise QueryError(_NO_FOLDER)
        try:
            return Update(self._folder.file(checked_id(order.id)), block)
        except OSError as error:
            raise QueryError(f"{error} in {self._folder.path}; nothing has changed") from None


def require_readable(path: Any) -> None:
    """Check that all of a Parquet file can be read; files of text are read as they are fed.

    Otherwise every later question about the rows would fail, since a batch is never taken back.

    Raises:
        QueryError: it cannot.
    """
    if not path.name.endswith((".parquet", ".pq")):
        return
    import duckdb

    with duckdb.connect() as connection:
        try:
            read = "SELECT bit_xor(hash(t)) FROM read_parquet($1, hive_partitioning=false) AS t"
            connection.execute(read, [str(path)])
        except duckdb.Error as error:
            raise QueryError(
                f"{path.name} cannot be read ({type(error).__name__}); nothing has changed"
            ) from None
