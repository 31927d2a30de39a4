"""The command `curator feed`: gives a data set its next batch, or closes a block.

Responsible for the copy of the file, and for sending the same order until it is known what became
of it: to the curator that runs, or to a root that is opened here if none runs.
"""

import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

from curator.ledgers import LeaseError
from curator.logs.batch_files import BatchFolder, checked_id, new_id
from curator.owner.orders import BusyError, LostReplyError, OrderError, RefusedError, RunningCurator
from curator.service.web.sockets import owner_socket
from curator.settings.configuration import Configuration, read_configuration
from curator.wire.feeds import Feeding
from mechanisms.tables.engines.files.encodings import by_line, decode_file

PATIENCE = 60.0
"""Seconds for which an order is sent again, while a curator starts, stops or opens the data set."""

_FIRST, _LONGEST = 0.05, 1.0
_LEASED = 10.0  # seconds, while another process has the data set


def feed(
    file: Path,
    dataset: str,
    source: Path | None = None,
    block: str | int | date = "",
    close: str | int | date = "",
    identity: str = "",
    encoding: str = "",
) -> str:
    """Feed a file to a data set as its next batch, or close a block with --close.

    The file is copied to the folder that `batches` names for the data set. It is fed once under its
    --id, however often the command is given with it. A CSV file in another --encoding than the data
    set's is copied in that of the data set. When batches arrive and the names of blocks
    and ids are public; what is in a batch is not.
    """
    configuration = read_configuration(file)
    stated = configuration.dataset(dataset)
    names = [each for each in (block, close) if each != ""]
    if (source is None) is not (close != "") or len(names) > 1:
        raise OrderError(
            "give a file, with --block NAME if data are in blocks; or --close NAME to close a block"
        )
    if stated.batches is None:
        raise OrderError(
            f'{configuration.file}: add batches = "batches" to [datasets.{dataset}]: the folder '
            "to which files are copied; then start the curator again if it runs"
        )
    chosen = checked_id(identity or new_id())
    name = str(configuration.codec.encode(names[0] if names else None), "ascii")
    order = Feeding(chosen, name, close != "")
    folder = BatchFolder(stated.batches)
    with _recoded(source, encoding, stated.options.get("encoding", "utf-8")) as file_:
        copied = file_ is not None and folder.copy(file_, chosen)
    try:
        told = ordered(configuration, dataset, order)
    except RefusedError:
        if copied:
            folder.remove(chosen)
        raise
    return _shown(dataset, names, told, chosen)


@contextmanager
def _recoded(source: Path | None, encoding: str, wanted: str) -> Iterator[Path | None]:
    """The file, or a copy of it in the encoding that is wanted."""
    if not encoding:
        yield source
        return
    name = "" if source is None else source.name.removesuffix(".gz")
    if source is None or not name.lower().endswith((".csv", ".tsv")):
        raise OrderError("leave --encoding out: it is for CSV files")
    with tempfile.TemporaryDirectory(prefix="queryable-") as folder:
        try:
            by_line(encoding)
            decode_file(source, encoding, Path(folder, name), wanted, "strict")
        except UnicodeError as error:
            raise OrderError(
                f"{source.name} is no text of {encoding} that can be written in {wanted}, the "
                "encoding of the data set; nothing has changed"
            ) from error
        except ValueError as error:
            raise OrderError(f"{error}; nothing has changed") from error
        yield Path(folder, name)


def ordered(
    configuration: Configuration, dataset: str, order: Feeding, patience: float = PATIENCE
) -> Any:
    """The reply to an order, which is sent until there is one.

    Raises:
        RefusedError: it is wrong, and was not carried out.
        OrderError: it is not known whether it was.
    """
    began, pause, unknown = time.monotonic(), _FIRST, False
    again = (
        f"Whether it was done is not known: give the command again with --id {order.id}, and it is "
        "done once"
    )
    try:
        while True:
            try:
                return _sent(configuration, dataset, order)
            except LeaseError as error:  # a process of the owner's, or a curator that starts
                last: Exception = error
                left = min(patience, _LEASED)
            except (BusyError, LostReplyError, ConnectionError) as error:
                last, left, unknown = error, patience, True
            if not time.monotonic() + pause < began + left:
                if unknown:
                    raise OrderError(f"{last}. {again}") from last
                raise RefusedError(f"{last}; nothing has changed") from last
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST)
    except KeyboardInterrupt:
        raise OrderError(f"interrupted. {again}") from None


def _sent(configuration: Configuration, dataset: str, order: Feeding) -> Any:
    body = json.loads(order.written()) | {"dataset": dataset}
    try:
        return RunningCurator(owner_socket(configuration.file)).ask(
            "POST", "/v1/owner/batches", body
        )
    except (ConnectionRefusedError, FileNotFoundError):
        return fed_here(configuration, dataset, order)


def fed_here(configuration: Configuration, dataset: str, order: Feeding) -> Any:
    """Carry an order out in this process, which opens the data set."""
    from curator.service.answering.opening import opened

    found = opened(configuration, dataset)
    try:
        status, reply = found.service.feed(order.written())
    finally:
        found.close()
    told = json.loads(reply)
    if status == 409:
        raise RefusedError(told["error"])
    if status != 200:
        raise OrderError(told["error"])
    return told


def _shown(dataset: str, names: list[Any], told: Any, identity: str) -> str:
    if told["batch"] is None:
        text = f"{dataset}: the block {names[0]} is closed"
    else:
        where = f" in block {names[0]}" if names else ""
        text = f"{dataset}: {identity} is batch {told['batch']}{where}"
    if told["again"]:
        text += "; it was fed before, and nothing has changed"
    return "\n  ".join([text, *told["findings"]])
