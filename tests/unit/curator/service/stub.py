"""A service without data, whose messages say what its worker does: for tests of processes."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from curator.ledgers import LeaseError
from curator.service.workers.recipes import Opened
from queryable import SeededCoins
from queryable.conversation.recalling import Unplayed
from tests.strategies import RandomBits

HEAD = {"seq": 1, "hash": "0" * 64}


class Stub:
    """Answers with what it was asked; `do` in a body says more.

    Messages with a key are kept in a folder, so that the next worker knows them.
    """

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def tell(self, path: Any, body: bytes, deadline: float | None = None) -> tuple[int, bytes]:
        asked = json.loads(body)
        kept = self.folder / f"{asked.get('key', 'none')}.answer"
        if kept.exists():
            return 200, kept.read_bytes()
        times = self._times(asked.get("key", "none"))
        match asked.get("do"):
            case "sleep":
                sleep(asked["seconds"], asked.get("again", 1))
            case "wait":
                while not (self.folder / "go on").exists():
                    time.sleep(0.01)
            case "spin":
                until = time.perf_counter() + asked["seconds"]
                while time.perf_counter() < until:
                    pass
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
            case "die once" if times == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            case "die after answering" if times == 1:
                kept.write_bytes(self._told(path, asked, times))
                os.kill(os.getpid(), signal.SIGKILL)
            case "raise":
                raise RuntimeError("this is private")
            case "hang" if times == 1:
                time.sleep(1000)
            case "refuse":
                return 409, b'{"error":"no","type":"RequestKeyError"}'
        return 200, self._told(path, asked, times)

    def _times(self, key: str) -> int:
        with (self.folder / f"{key}.asked").open("a") as file:
            file.write(".")
        return len((self.folder / f"{key}.asked").read_text())

    def _told(self, path: Any, asked: dict[str, Any], times: int) -> bytes:
        given_up = (self.folder / "given up").exists()
        answer = {"path": path, "asked": asked, "times": times, "given up": given_up}
        outcome = {"answer": answer | {"child": times}, "kind": asked.get("kind", "answer")}
        return json.dumps(
            {"head": HEAD, "new": 1, "outcome": outcome, "seq": 1}, separators=(",", ":")
        ).encode()

    @property
    def lost(self) -> bool:
        return (self.folder / "lost").exists()

    def feed(self, body: bytes) -> tuple[int, bytes]:
        return self.tell((), body)

    def describe(self, path: Any) -> tuple[int, bytes]:
        return 200, json.dumps({"path": path, "pid": os.getpid()}).encode()

    def view(self, path: Any, after: int) -> tuple[int, bytes]:
        return 200, json.dumps({"path": path, "after": after}).encode()

    def page(self, path: Any, after: Any = None) -> tuple[int, bytes]:
        return 200, json.dumps({"path": path, "page": True}).encode()

    def status(self) -> tuple[int, bytes]:
        return 200, json.dumps({"environment": sorted(os.environ)}).encode()


def sleep(seconds: float, times: int) -> None:
    """Sleep some times; before each, run a message again, as of a child that is made from a log."""
    for _ in range(times):
        lazy = Unplayed(RandomBits(), [1], lambda: SeededCoins(0), None, lambda *_: True)
        lazy.asked("bits", lambda: SeededCoins(1), 0).played()
        time.sleep(seconds)


def opened(folder: str, *, give_up: bool, fails: str = "") -> Opened:
    """A stub. `fails` is the name of a file in the folder that has it fail while it is there."""
    place = Path(folder)
    with (place / "openings").open("a") as file:
        file.write(".")
    if give_up:
        (place / "given up").touch()
    match fails if (place / fails).is_file() else "":
        case "held":
            raise LeaseError("another curator has it")
        case "broken":
            raise ValueError("the data are not those of the first time")
        case "dies":
            os.kill(os.getpid(), signal.SIGKILL)
    return Opened(Stub(folder), {"columns": ["age"]}, (place / "closed").touch)
