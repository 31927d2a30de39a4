"""Open a root on a ledger: a queryable that survives its process.

Responsible for opening, going on after a restart, and closing. The state of a root is a function of
the data, the mechanism, the key and the log, so the log is all that is stored. At opening, filters
and odometers are made again from it; everything else is run again when it is next asked, and each
answer is compared with the logged one.

The order of a message: the intent is durable before data are read, and the answer is durable before
the analyst gets it. A crash between the two leaves an intent, which is run again once, with the
same coins and so with the same answer; if that crashes too, it has failed, and its charge is kept.
"""

import hmac
import json
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import attrs

from curator.access import OWN
from curator.anchors import Anchor
from curator.arguments import name_of, require_codec
from curator.codec import CODEC, Codec
from curator.fingerprints import differences, fingerprint
from curator.journal import TTL, LedgerJournal, written
from curator.keys import Key, destroy_key, make_key, read_key
from curator.leases import KEEPER
from curator.ledgers import Ledger, LedgerError, chained, ledger_of, this_process
from curator.moorings import first_moored, moored
from curator.reading import Reader
from curator.skimming import Skim
from curator.story import SCHEMA, Story, Telling, message_of, same_by, story_of
from mechanisms import Table
from queryable.datasets import protected, protects, remember, warn
from queryable.handle import Queryable
from queryable.mechanism import InteractiveMechanism
from queryable.messages import Failed, bare
from queryable.randomness.entropy import random_bytes
from queryable.randomness.sealed import SealedCoins
from queryable.recalling import Recall
from queryable.running.folding import give_up, tell_again
from queryable.running.root import MemoryRoot

Place = Ledger | str | os.PathLike[str]
"""A ledger, or the path of its file."""


def open(  # noqa: A001 (`curator.open`)
    ledger: Place,
    mechanism: InteractiveMechanism[Any],
    dataset: Any,
    *,
    name: str,
    key: Key | None = None,
    codec: Codec = CODEC,
    on_fault: Callable[[BaseException], object] | None = None,
    anchor: Anchor | str | os.PathLike[str] | None = None,
    charge_to_anchor: bool = False,
    give_up: bool = False,
) -> Queryable:
    """Open a root on a ledger, or go on with it: a `Queryable` that survives its process.

    Every answer that was given is in the ledger, with its charge. Children go on at the state that
    they had. A message that was under way when the process ended is answered now.

    Args:
        ledger: a ledger, or the path of its file, which is made if it is not there.
        mechanism: the mechanism to run, the same as at the first time.
        dataset: the data, the same as at the first time.
        name: the root's name in the ledger.
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
            it is run again, once.

    Raises:
        LedgerError: the root has another mechanism, other data or another key, or was closed, or
            another process writes to it.
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
    name = name_of(name)
    if name.startswith(OWN):
        raise ValueError(f"name starts with {OWN}, as the names of the curator's own roots do")
    place = ledger_of(ledger)
    epoch: int | None = None
    try:
        given = protected(dataset)
        epoch = place.lease(name, this_process(), TTL)
        telling = Telling(chained(place.read(name)))
        journal = LedgerJournal(place, name, epoch, codec, telling.head, telling.pending)
        journal.owns = place is not ledger
        try:
            secret = secret_of(key, ledger, new=telling.opened is None)
            if telling.opened is None:
                warn(dataset)
                _open(telling, journal, mechanism, given, secret, anchor)
            else:
                opened = _require_same(name, telling, mechanism, given, secret, codec)
                journal.mooring = moored(
                    anchor, place, name, mechanism, opened, charge=charge_to_anchor
                )
        except Exception:
            for _ in telling.messages():
                """The rest is read: if the root is closed, that is what there is to say."""
            _require_live(name, telling)
            raise
        mooring = journal.mooring
        if mooring is not None and mooring.behind:
            journal.mooring = None
            telling.gives_up = True  # what is under way fails, and reads nothing
        elif mooring is not None and telling.opening is None and telling.head is not None:
            mooring.keep(telling.head)
        root = _running(
            journal, telling, ledger, mechanism, given, secret, on_fault, give_up=give_up
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


def close(ledger: Place, name: str, *, key: Key | None = None) -> str:
    """Close a root for good: no further messages. If its key is in a file, the file is destroyed.

    Answers and accounts stay in the ledger. Once the key is gone, nobody can compute the noise. It
    stays while another root of this ledger, which is not closed, uses it.

    Args:
        key: as for `open`.

    Returns:
        What the owner has to know about the key.

    Raises:
        LedgerError: there is no such root, or another process writes to it.
    """
    name, place = name_of(name), ledger_of(ledger)
    try:
        epoch = place.lease(name, this_process(), TTL)
        try:
            story = story_of(chained(place.read(name)))
            if story.opened is None:
                raise LedgerError(f"there is no root {name!r} in {place!r}")
            if not story.closed:
                LedgerJournal(place, name, epoch, CODEC, story.head).append("closed", {})
        finally:
            place.release(name, epoch)
        return _destroyed(place, story.opened, _default_key(ledger) if key is None else key)
    finally:
        if place is not ledger:
            place.close()


def _destroyed(ledger: Ledger, opened: dict[str, Any], key: Key | None) -> str:
    """Destroy the key of a root that is closed, unless another root needs it; say what was done."""
    if key is None or isinstance(key, bytes) or str(key).startswith("env:"):
        return "destroy its key, wherever it is: it is in no file"
    if not Path(key).exists():
        return f"there is no key {key} any more"
    secret = read_key(key)
    if not is_key(opened, secret):
        return f"{key} is the key of another root; it was not destroyed"
    roots = [each for each in ledger.roots() if not each.startswith(OWN)]
    using = [each for each in roots if _uses(story_of(ledger.read(each)), secret)]
    if using:
        return f"{key} was not destroyed: {', '.join(using)} need it and can be continued"
    destroy_key(key)
    return f"its key {key} is destroyed"


def _uses(story: Story, secret: bytes) -> bool:
    return story.opened is not None and not story.closed and is_key(story.opened, secret)


def is_key(opened: dict[str, Any], secret: bytes) -> bool:
    """Whether this is the key that a root was opened with."""
    return hmac.compare_digest(opened["check"], _check_value(secret, opened["salt"]))


def root_id(name: str, opened: dict[str, Any]) -> str:
    """What the coins of a root are bound to, beside the key: its name and its first event.

    The first event has a random salt, the mechanism and the fingerprint of the data. So a key that
    is used for a second root, or for a second ledger, gives other noise there.
    """
    return f"{name} {sha256(written(opened).encode()).hexdigest()}"


def _default_key(ledger: Place) -> str | None:
    """The file of the key beside that of the ledger; None for a ledger in a database."""
    path = ledger if isinstance(ledger, str | os.PathLike) else getattr(ledger, "path", None)
    return None if path is None or "://" in os.fspath(path) else f"{os.fspath(path)}.key"


def secret_of(key: Key | None, ledger: Place, *, new: bool) -> bytes:
    """The key of a root. For a new one, a file beside the ledger is made if there is none."""
    if key is not None:
        return read_key(key)
    path = _default_key(ledger)
    if path is None:
        raise ValueError("give a key: 32 bytes, the path of a file with them, or 'env:NAME'")
    return make_key(path) if new and not Path(path).exists() else read_key(path)


def _check_value(secret: bytes, salt: str) -> str:
    """A value that tells whether a key is the right one, and nothing else about it."""
    return hmac.new(secret, b"check " + salt.encode(), sha256).hexdigest()


def described(
    mechanism: InteractiveMechanism[Any], dataset: Any, secret: bytes, codec: Codec
) -> dict[str, Any]:
    """What a root is opened with, as its first event has it."""
    return {
        "fingerprint": fingerprint(dataset, secret),
        "mechanism": str(codec.encode(mechanism), "ascii"),
    }


def _open(
    telling: Telling,
    journal: LedgerJournal,
    mechanism: InteractiveMechanism[Any],
    dataset: Any,
    secret: bytes,
    anchor: Anchor | str | os.PathLike[str] | None,
) -> None:
    """Append the first event of a new root, before anything is run."""
    salt = random_bytes(16).hex()
    body = described(mechanism, dataset, secret, journal.codec)
    body |= {"schema": SCHEMA, "salt": salt, "check": _check_value(secret, salt)}
    body["protects"] = attrs.astuple(protects(dataset))
    if isinstance(dataset, Table):
        body["seed"] = str(dataset.seed)
    if anchor is not None:
        body["anchor"] = True
        journal.mooring = first_moored(anchor, journal.root, mechanism, salt)
    journal.pending = journal.append("opened", body)
    telling.opened, telling.head, telling.pending = body, journal.head, journal.pending


def _require_same(
    name: str,
    telling: Telling,
    mechanism: InteractiveMechanism[Any],
    dataset: Any,
    secret: bytes,
    codec: Codec,
) -> dict[str, Any]:
    """Check that a root goes on with what it was opened with; return its first event's body.

    Raises:
        LedgerError: it does not.
    """
    opened = telling.opened
    assert opened is not None
    _require_live(name, telling)
    if not is_key(opened, secret):
        raise LedgerError(f"root {name!r} was opened with another key; give that one")
    now = described(mechanism, dataset, secret, codec)
    if now["mechanism"] != opened["mechanism"]:
        raise LedgerError(
            f"root {name!r} was opened with another mechanism: {opened['mechanism']}. Give that "
            "one, or open a root of another name"
        )
    if now["fingerprint"] != opened["fingerprint"]:
        raise LedgerError(
            f"root {name!r} was opened on other data: "
            f"{differences(opened['fingerprint'], now['fingerprint'])}. Give the data of then, or "
            "open a root of another name; curator.view shows the answers of this one"
        )
    return opened


def _require_live(name: str, telling: Telling) -> None:
    """Check that the root is not closed, as far as the log was read.

    Raises:
        LedgerError: it is.
    """
    if telling.closed:
        raise LedgerError(
            f"root {name!r} is closed: its answers stay, and it has no more; curator.view shows it"
        )


def _running(
    journal: LedgerJournal,
    telling: Telling,
    ledger: Place,
    mechanism: InteractiveMechanism[Any],
    dataset: Any,
    secret: bytes,
    on_fault: Callable[[BaseException], object] | None,
    *,
    give_up: bool,
) -> MemoryRoot:
    """The root with all that the log has, after what was under way has been finished."""
    opened, codec = telling.opened, journal.codec
    assert opened is not None
    if isinstance(dataset, Table):
        dataset = dataset.with_seed(int(opened["seed"]))
    coins = SealedCoins(secret, root_id(journal.root, opened), canonical=codec.encode)
    opening = None
    if telling.opening is not None:
        opening = Recall(codec.decode(telling.opening), same_by(codec))
    elif not mechanism.recallable:  # otherwise it was to read nothing
        if telling.gives_up:
            opening = Recall(Failed(), same_by(codec))
        elif telling.tries == 1:
            journal.append("again", {"of": 1})
    root = MemoryRoot(mechanism, dataset, coins, on_fault, protects(dataset), opening=opening)
    if telling.opening is None:
        answer = str(codec.encode(bare(root.opening)), "ascii")
        journal.append("answer", {"of": 1, "answer": answer})
        journal.pending = None
    root.handles.register((), root.opening)
    root.journal = journal
    if telling.opening is not None:
        reader = Reader(journal.ledger, ledger, journal.root, coins, codec)
        _go_on(root, journal, telling, reader, coins, lost=give_up)
    return root


def _go_on(
    root: MemoryRoot,
    journal: LedgerJournal,
    telling: Telling,
    reader: Reader,
    coins: SealedCoins,
    *,
    lost: bool,
) -> None:
    """Make the state again from the messages of the log; finish the one that was under way."""
    skim = Skim(root, reader, coins, journal.codec)
    skim.fold(telling.messages())
    _require_live(journal.root, telling)
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
        journal.append("again", {"of": telling.pending.seq})
        tell_again(root, message)
    if journal.pending is not None:
        raise LedgerError(f"the message of root {journal.root!r} under way was not finished")
