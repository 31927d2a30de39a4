"""The command `curator retry`: a message that crashes interrupted may be tried more often.

Responsible for finding the message in the log, and for the owner's word, which is an event of the
access. The next opening of the data set reads it. Trying again costs nothing: the coins of a
message follow from its history, so it has the one answer that it would have had.
"""

from contextlib import closing
from pathlib import Path

from curator.access import Allowed
from curator.ledgers import LedgerError, chained, ledger_of
from curator.logs.story import TRIES, Telling
from curator.owner.orders import ordered
from curator.settings.configuration import read_configuration


def retry(file: Path, dataset: str, tries: int = TRIES) -> str:
    """Let the message under way be tried so many more times before it has failed.

    For a data set whose process was killed in the middle of a message. By default such a message
    is tried eight times. If a curator runs, it goes on by itself; otherwise start it. A message
    that has failed stays failed: its answer was given.
    """
    if not tries >= 1:
        raise LedgerError(f"tries is {tries}; it should be at least 1")
    configuration = read_configuration(file)
    configuration.dataset(dataset)
    with closing(ledger_of(configuration.ledger, make=False)) as ledger:
        telling = Telling(chained(ledger.read(dataset)))
        for _ in telling.messages():
            pass  # to the last event
    if telling.pending is None:
        raise LedgerError(
            f"no message of {dataset} is under way, so there is nothing to try again. A message "
            "that has failed stays failed"
        )
    number, most = telling.pending.seq, telling.tries + tries
    order = {"dataset": dataset, "message": number, "tries": most}
    ordered(
        configuration,
        lambda curator: curator.ask("POST", "/v1/owner/tries", order),
        lambda store: store.change(Allowed(dataset, number, most)),
    )
    return f"{dataset}: message {number} was tried {telling.tries} times, and fails after {most}"
