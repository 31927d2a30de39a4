"""The main program of a worker: one data set, with its data, its key, its ledger and its lease.

Responsible for answering the frames of the front, one after another. The front has two channels to
a worker: on one it sends messages (`tell`), on the other one questions that change nothing, so that
these need not wait for a long message. A worker ends when the front ends.

Run as `python -m curator.service.workers.worker TELLS READS`, with the numbers of two sockets.
"""

import gc
import json
import os
import signal
import socket
import sys
import threading
import time
import traceback
from typing import Any

from curator.ledgers import LeaseError
from curator.service.workers.frames import Channel, MessageFrame
from curator.service.workers.isolation import forbid_network
from curator.service.workers.recipes import Opened, Recipe
from queryable.conversation.recalling import noticing
from queryable.errors import InteractiveError

_GRACE = 5.0  # seconds that a message under way may take after the front has ended
_BROKEN = 3
_PAUSE = 1.0  # seconds between two tries to get the lease, and two looks whether it is lost
_NOTICE = 0.1  # seconds between two notices that messages are run again, at least
_SWITCH = 0.0005  # seconds after which a page that is made lets a message go on; 0.005 in Python


_WAITING = "The curator waits for that: it tries again every 30 seconds or more often"


class Worker:
    """Answers the front over two channels."""

    def __init__(self, tells: Channel, reads: Channel) -> None:
        self._tells, self._reads = tells, reads
        self._service: Any = None
        self._busy = threading.Lock()
        self._ended = threading.Event()
        self._noticed = 0.0

    def run(self) -> int:
        """Open the service and answer; returns the exit code."""
        first = self._tells.receive()
        if first is None:
            return 0
        recipe = Recipe(**first.header["recipe"])
        alone = None if recipe.network else forbid_network()
        threading.Thread(target=self._watch, daemon=True).start()
        try:
            opened = self._opened(recipe, first.header["give_up"])
        except (InteractiveError, OSError, ValueError, TypeError, ImportError) as error:
            text = f"{type(error).__name__}: {error}"
            if text != first.header["said"]:
                if not isinstance(error, InteractiveError):  # others say what to do without a trace
                    traceback.print_exc()
                sys.stderr.write(f"ERROR {text}. {_WAITING}\n")
            self._tells.send(MessageFrame({"event": "broken", "text": text}))
            return 1
        self._service = opened.service
        threading.Thread(target=self._watch_lease, daemon=True).start()
        gc.freeze()  # what was opened stays; to look through it again takes longer than messages
        try:
            about = {"event": "ready", "alone": bool(alone), "about": opened.about}
            self._tells.send(MessageFrame(about))
            self._serve(self._tells)
        finally:
            opened.close()
            self._ended.set()
        return _BROKEN if self._is_broken else 0

    @property
    def _is_broken(self) -> bool:
        """Whether the root has to be opened again; the next worker does that."""
        return bool(getattr(self._service, "broken", False))

    def _opened(self, recipe: Recipe, give_up: bool) -> Opened:
        opener = recipe.opener()
        while True:
            try:
                return opener(**recipe.arguments, give_up=give_up)
            except LeaseError as error:
                self._tells.send(MessageFrame({"event": "held", "text": str(error)}))
                time.sleep(_PAUSE)

    def _watch(self) -> None:
        """Answer questions; end the process if the front has ended."""
        self._serve(self._reads)
        if not self._ended.wait(_GRACE):
            os._exit(0)  # as after a crash: what was under way is finished at the next opening

    def _watch_lease(self) -> None:
        """End the process if another curator has the root, so that the front says so.

        Nothing can be stored any more, and the next worker waits for the lease.
        """
        while not self._ended.wait(_PAUSE):
            if getattr(self._service, "lost", False):
                os._exit(_BROKEN)

    def _serve(self, channel: Channel) -> None:
        while (asked := channel.receive()) is not None:
            answer = self._answer(asked)
            if self._is_broken:
                return  # the front sends the message again to the next worker
            channel.send(answer)

    def _again(self) -> None:
        """Tell the front that an earlier message is run again: the deadline begins anew."""
        now = time.monotonic()
        if now - self._noticed >= _NOTICE:
            self._noticed = now
            self._tells.send(MessageFrame({"event": "again"}))

    def _answer(self, asked: MessageFrame) -> MessageFrame:
        header = asked.header
        verb, path = header["verb"], tuple(header.get("path", ()))
        service = self._service
        try:
            match verb:
                case "tell":
                    with noticing(self._again):
                        status, body = service.tell(path, asked.body, header["deadline"])
                case "feed":
                    status, body = service.feed(asked.body)
                case "describe":
                    status, body = service.describe(path)
                case "view":
                    status, body = service.view(path, header["after"])
                case "page":
                    status, body = service.page(path, header["after"])
                case _:
                    status, body = service.status()
        except Exception:  # a fault of ours: the owner's log has it, the analyst a fixed text
            traceback.print_exc()
            status, body = 500, _FAULT
        return MessageFrame({"id": header["id"], "status": status}, body)


_FAULT = json.dumps(
    {"error": "the curator could not answer this message", "type": "CuratorError"}
).encode("ascii")


def main(arguments: list[str]) -> int:
    """Run a worker over two sockets that were inherited."""
    sys.setswitchinterval(_SWITCH)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the front decides when a worker ends
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    tells, reads = (socket.socket(fileno=int(number)) for number in arguments)
    return Worker(Channel(tells), Channel(reads)).run()


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(code)  # everything is closed, and taking libraries of engines apart says a lot
