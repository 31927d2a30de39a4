"""Open a root on a ledger: a queryable that survives its process.

Responsible for opening, and going on after a restart. The state of a root is a function of the
data, the mechanism, the key and the log, so the log is all that is stored. At opening, filters and
odometers are made again from it; everything else is run again when it is next asked, and each
answer is compared with the logged one.

The order of a message: the intent is durable before data are read, and the answer is durable before
the analyst gets it. A crash between the two leaves an intent, which is run again, with the same
coins and so with the same answer. A try counts once data are about to be read; after eight tries
the message has failed, and its charge is kept.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

from curator.access import OWN
from curator.anchors import Anchor
from curator.arguments import name_of, require_codec
from curator.codec import CODEC, Codec
from curator.identities import (
    Place,
    check_value,
    continued,
    default_key,
    described,
    holder_of,
    require_live,
    require_not_closed,
    root_id,
    secret_of,
)
from curator.keys import Key
from curator.leases import KEEPER, lease_of
from curator.ledgers import LedgerError, chained, ledger_of, this_process
from curator.logs.batches import Batches, Marks, Updates
from curator.logs.journal import TTL, LedgerJournal
from curator.logs.person_states import Keeping, folder_of
from curator.logs.reading import MessageReader
from curator.logs.skimming import Skim
from curator.logs.story import SCHEMA, TRIES, Telling, Tries, message_of, same_by, tries_of
from curator.moorings import first_moored, moored
from mechanisms import Table
from queryable.checks.datasets import protected, protects, remember, warn
from queryable.conversation.recalling import Recall
from queryable.handle import Queryable
from queryable.mechanism import InteractiveMechanism
from queryable.messages import Failed, without_receipts
from queryable.randomness.entropy import random_bytes
from queryable.randomness.sealed import SealedCoins
from queryable.running.folding import give_up, tell_again
from queryable.running.root import MemoryRoot


def open(  # noqa: A001 (`curator.open`)
    ledger: Place,
    mechanism: InteractiveMechanism[Any],
    dataset: Any,
    *,
    name: str,
    updates: Updates = (),
    key: Key | None = None,
    codec: Codec = CODEC,
    on_fault: Callable[[BaseException], object] | None = None,
    anchor: Anchor | str | os.PathLike[str] | None = None,
    charge_to_anchor: bool = False,
    give_up: bool = False,
    tries: Tries = TRIES,
    lease: float = TTL,
) -> Queryable:
    """Open a root on a ledger, or go on with it: a `Queryable` that survives its process.

    Every answer that was given is in the ledger, with its charge. Children go on at the state that
    they had. A message that was under way when the process ended is answered now.

    Args:
        ledger: a ledger, or the path of its file, which is made if it is not there.
        mechanism: the mechanism to run, the same as at the first time.
        dataset: the data, the same as at the first time.
        name: the root's name in the ledger.
        updates: the batches that the root has got from `feed`, in order: a sequence, or a function
            that gives the batch of a number, counted from 0. The ledger has only a fingerprint of
            each, with which it is compared.
        key: 32 secret bytes, the path of a file with them, or "env:NAME". By default the file of
            the ledger with `.key` after its name; for a new root it is made if it is not there.
            A ledger in a database has no such file: give the key.
        codec: writes queries and answers; another one has mechanisms of a site.
        on_fault: as in `Queryable`.
        anchor: a file elsewhere that tells an old copy of the ledger; see `Anchor`. A root that was
            opened with one always needs it.
        charge_to_anchor: whether to charge a sealed root up to the bound of its anchor. All its
            children are retired if the ledger is an old copy.
        give_up: whether a message that was under way when the process ended has failed. By default
            it is run again.
        tries: how often a message is run, if each time the process ends before its answer is
            stored, until it has failed. A try counts once data are about to be read for it. A
            function gives the number for that of the message's event.
        lease: seconds after which another machine may take the root over, if this process ends
            without a word; at least 5. It is renewed while the root is open.

    Raises:
        QueryError: the mechanism does not fit the data, or protects less than these.
        LedgerError: the root has another mechanism, other data, other batches or another key, or
            was closed, or another process writes to it.
        QueryError: the mechanism of a new root does not fit the data.
        SealedError: the ledger has lost messages, as its anchor tells.
        MechanismFault: the mechanism failed when it was started; its charge is kept.

    Examples:
        >>> import tempfile
        >>> import curator
        >>> from composition import FiltCon
        >>> from mechanisms import Count, Gaussian
        >>> from queryable import ZCDP
        >>> folder, data = tempfile.TemporaryDirectory(), {"age": [31, 47, 62]}
        >>> ledger = f"{folder.name}/visits.db"
        >>> table = curator.open(ledger, FiltCon(ZCDP("1/10")), data, name="visits")
        >>> noisy = table(Gaussian(Count(), rho="1/50"))
        >>> table = curator.open(ledger, FiltCon(ZCDP("1/10")), data, name="visits")
        >>> table.privacy_loss(), table.view[0].answer.answer == noisy
        (ZCDP(rho='1/50'), True)
        >>> folder.cleanup()
    """
    if not isinstance(mechanism, InteractiveMechanism):
        raise TypeError("mechanism should be an InteractiveMechanism, such as FiltCon(budget)")
    require_codec(codec)
    lease, most, name = lease_of(lease), tries_of(tries), name_of(name)
    if name.startswith(OWN):
        raise ValueError(f"name starts with {OWN}, as the names of the curator's own roots do")
    place = ledger_of(ledger)
    epoch: int | None = None
    try:
        given = protected(dataset)
        before = Telling(chained(place.read(name)))
        # Taking the lease ends the handle that there may be, so what is wrong is refused before.
        secret = continued(name, before, mechanism, given, key, ledger, codec)
        epoch = place.lease(name, this_process(), lease)
        telling = Telling(chained(place.read(name)), most)
        journal = LedgerJournal(place, name, epoch, codec, telling.head, telling.pending, ttl=lease)
        journal.owns = place is not ledger
        try:
            if telling.opened is None:
                secret = secret_of(key, ledger, new=True)
                body = described(mechanism, given, secret, codec)
                warn(dataset, held_by=holder_of(place, body, secret))
                _open(telling, journal, mechanism, given, secret, anchor, body)
            else:
                if telling.opened != before.opened:  # it was opened in between
                    secret = continued(name, telling, mechanism, given, key, ledger, codec)
                journal.mooring = moored(
                    anchor, place, name, mechanism, telling.opened, charge=charge_to_anchor
                )
        except Exception:
            require_not_closed(name, telling)
            raise
        mooring = journal.mooring
        if mooring is not None and mooring.behind:
            journal.mooring = None
            telling.gives_up = True  # what is under way fails, and reads nothing
        elif mooring is not None and telling.opening is None and telling.head is not None:
            mooring.keep(telling.head)
        folder = folder_of(default_key(ledger) if key is None else key)
        root = _running(
            *(journal, telling, ledger, mechanism, given, secret, on_fault, updates, folder),
            give_up=give_up,
        )
        if mooring is not None:
            journal.mooring = mooring
            mooring.go_on(root, charge=charge_to_anchor)
        handle = Queryable._over(root)
    except BaseException:
        if epoch is not None:
            place.release(name, epoch)
        if place is not ledger:
            place.close()
        raise
    remember(dataset)
    KEEPER.hold(journal)
    return handle


def release(handle: Queryable) -> None:
    """Give a root back: another process may open it at once. The handle takes no more messages.

    Without it the lease is held until the process ends, or for half a minute after the last handle
    of the root is gone.

    Args:
        handle: what `open` returned, or a child of it.

    Raises:
        TypeError: it is not a handle of a root on a ledger.
    """
    journal = getattr(getattr(handle, "_root", None), "journal", None)
    if not isinstance(journal, LedgerJournal):
        raise TypeError("release a handle that curator.open gave; this one has no lease")
    journal.release()


def _open(
    telling: Telling,
    journal: LedgerJournal,
    mechanism: InteractiveMechanism[Any],
    dataset: Any,
    secret: bytes,
    anchor: Anchor | str | os.PathLike[str] | None,
    body: dict[str, Any],
) -> None:
    """Append the first event of a new root, before anything is run."""
    salt = random_bytes(16).hex()
    body |= {"schema": SCHEMA, "salt": salt, "check": check_value(secret, salt)}
    body["protects"] = attrs.astuple(protects(dataset))
    if isinstance(dataset, Table):
        body["seed"] = str(dataset.seed)
    if anchor is not None:
        body["anchor"] = True
        journal.mooring = first_moored(anchor, journal.root, mechanism, salt)
    journal.pending = journal.append("opened", body)
    telling.opened, telling.head, telling.pending = body, journal.head, journal.pending


def _running(
    journal: LedgerJournal,
    telling: Telling,
    ledger: Place,
    mechanism: InteractiveMechanism[Any],
    dataset: Any,
    secret: bytes,
    on_fault: Callable[[BaseException], object] | None,
    updates: Updates,
    folder: Path | None,
    *,
    give_up: bool,
) -> MemoryRoot:
    """The root with all that the log has, after what was under way has been finished."""
    opened, codec = telling.opened, journal.codec
    assert opened is not None
    journal.batches = Batches(codec, Marks(secret, opened["salt"]), updates)
    if isinstance(dataset, Table):
        dataset = dataset.with_seed(int(opened["seed"]))
    coins = SealedCoins(secret, root_id(journal.root, opened), canonical=journal.written.canonical)
    opening = None
    if telling.opening is not None:
        opening = Recall.of_opening(codec.decode(telling.opening), same_by(codec))
    elif not Recall.holds(mechanism):  # otherwise it was to read nothing
        if telling.gives_up:
            opening = Recall.of_opening(Failed(), same_by(codec))
        elif telling.tries:  # none if it is new
            journal.append("again", {"of": 1})
    root = MemoryRoot(mechanism, dataset, coins, on_fault, protects(dataset), opening=opening)
    if telling.opening is None:
        answer = str(codec.encode(without_receipts(root.opening)), "ascii")
        journal.append("answer", {"of": 1, "answer": answer})
        journal.pending = None
    root.handles.register((), root.opening)
    root.journal = journal
    if folder is not None:
        journal.keeping = Keeping(folder, root_id(journal.root, opened))
    if telling.opening is not None:
        reader = MessageReader(journal.ledger, ledger, journal.root, coins, codec)
        _go_on(root, journal, telling, reader, coins, lost=give_up)
    journal.batches.require_all()
    return root


def _go_on(
    root: MemoryRoot,
    journal: LedgerJournal,
    telling: Telling,
    reader: MessageReader,
    coins: SealedCoins,
    *,
    lost: bool,
) -> None:
    """Make the state again from the messages of the log; finish the one that was under way."""
    skim = Skim(root, reader, coins, journal.codec, journal.batches, journal.keeping)
    try:
        skim.fold(telling.messages())
    except LedgerError:
        require_not_closed(journal.root, telling)
        raise
    journal.batches.require_all()
    require_live(journal.root, telling)
    journal.go_on(telling.head, telling.pending)
    journal.requests = skim.requests
    if telling.pending is None:
        return
    if journal.mooring is not None:
        journal.mooring.start(root.state)
    message = message_of(json.loads(telling.pending.body), coins, journal.codec)
    if telling.gives_up or lost:
        give_up(root, message)
    else:
        tell_again(root, message)
    if journal.pending is not None:
        raise LedgerError(f"the message of root {journal.root!r} under way was not finished")
