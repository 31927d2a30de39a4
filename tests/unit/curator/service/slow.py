"""A service with a mechanism that waits at the data, raises, or kills its worker, as told."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import attrs

import curator
from composition import FiltCon
from curator.codec import CODEC as OWN
from curator.codec.entries import entry_of
from curator.service.answering.local import LocalService
from curator.service.workers.recipes import Opened
from queryable import ZCDP
from queryable.losses import Loss
from queryable.mechanism import Measurement
from queryable.randomness.coins import SYSTEM, Coins
from queryable.randomness.laws import UniformBelow

KEY = bytes(range(32))
DATA = {"age": list(range(100))}


@attrs.frozen
class Waiting(Measurement[int]):
    """Answers 64 random bits; before that, it does what the file `does` says.

    Each time that it runs is a line in the file `ran`.
    """

    folder: str

    def loss(self, d_in: int) -> Loss:
        return ZCDP("1/100").group(d_in)

    def release(self, dataset: Any, coins: Coins = SYSTEM) -> int:
        place = Path(self.folder)
        with (place / "ran").open("a") as file:
            file.write("once\n")
        match (place / "does").read_text() if (place / "does").exists() else "":
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
            case "wait":
                time.sleep(1000)
            case "die, then exit" if not (place / "died").exists():
                (place / "died").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            case "exit" | "die, then exit":
                raise SystemExit(3)
            case "interrupt":
                raise KeyboardInterrupt
            case "memory":
                raise MemoryError
        return int(coins.draw(UniformBelow(2**64)))


CODEC = OWN.joined([entry_of("tests.waiting/1", Waiting)])


def opened(folder: str, *, give_up: bool = False) -> Opened:
    """A service on a ledger in a file."""
    root = curator.open(
        f"{folder}/ledger.db",
        *(FiltCon(ZCDP(1)), DATA),
        name="visits",
        key=KEY,
        codec=CODEC,
        give_up=give_up,
    )
    return Opened(LocalService(root, codec=CODEC), {}, lambda: curator.release(root))
