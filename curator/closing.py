"""Close a root for good, and destroy its key if no other root needs it."""

import shutil
from pathlib import Path
from typing import Any

from curator.access import OWN
from curator.arguments import name_of
from curator.codec import CODEC
from curator.identities import Place, default_key, is_key
from curator.keys import Key, destroy_key, read_key
from curator.ledgers import Ledger, LedgerError, chained, ledger_of, this_process
from curator.logs.journal import TTL, LedgerJournal
from curator.logs.person_states import folder_of
from curator.logs.story import Story, story_of


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
        return _destroyed(place, story.opened, default_key(ledger) if key is None else key)
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
    folder = folder_of(key)
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)  # nobody can read it any more
    return f"its key {key} is destroyed"


def _uses(story: Story, secret: bytes) -> bool:
    return story.opened is not None and not story.closed and is_key(story.opened, secret)
