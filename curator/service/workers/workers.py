"""`WorkerService`: a data set's worker as the front sees it.

Responsible for starting the process, watching it, and starting it again. It has the methods of
`Service` as coroutines, and does not look into what it carries.

Theory of operation. A worker answers messages one after another, so the message that it works on is
the oldest one without a reply. If the worker dies, that message is sent again to the next worker, a
few times at most, and so are those behind it. They have their request keys, so a message whose
answer was stored gets that answer. If the oldest message takes longer than the deadline, the
worker is killed, and the next one is told to give the message up: it has failed, and its charge is
kept. After a restart a child's earlier messages are run again when it is next asked. Each has the
deadline of its own, as when it was answered first: the worker sends a notice, and the deadline
begins anew.
"""

import asyncio
import itertools
import os
import re
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Mapping
from functools import partial
from pathlib import Path as File
from typing import Any

import attrs

from curator.logs.story import TRIES
from curator.service.services import HTTPReply
from curator.service.workers.frames import MessageFrame
from curator.service.workers.lines import End, Job, WorkerLine
from curator.service.workers.recipes import Recipe
from queryable.running.handles import Path

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 30.0
_HOPELESS = TRIES  # failed starts after which messages no longer wait: one may kill so often
_PATIENCE = 30.0  # seconds for messages under way when the curator stops
_LAST = 2.0  # seconds to read what a worker that has ended sent

_KEPT = ("PATH", "HOME", "LANG", "TZ", "TMPDIR", "JAVA_HOME", "VIRTUAL_ENV", "USER", "LOGNAME")
_KEPT_PREFIXES = ("LC_", "PG", "SPARK_", "PYTHON", "SSL_CERT_")
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_NAMED = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)")


class NoWorkerError(Exception):
    """There is no worker now. `after` is when to ask again, in seconds."""

    def __init__(self, text: str, after: int = 1) -> None:
        super().__init__(text)
        self.after = after


def environment_for(
    file: File | None = None, present: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """The variables that a worker gets: a few common ones, and those that a file names.

    Numerical libraries get one thread, unless a file says otherwise: more of them wait for each
    other where workers share processors, and last digits depend on their number.

    Args:
        file: a configuration, where `env:NAME` names a variable.
    """
    named = set(_NAMED.findall(file.read_text(encoding="utf-8"))) if file is not None else set()
    return dict.fromkeys(_THREADS, "1") | {
        name: value
        for name, value in present.items()
        if name in _KEPT or name in named or name.startswith(_KEPT_PREFIXES)
    }


class WorkerService:
    """The service of one data set, in a process of its own.

    Args:
        name: of the data set, for texts.
        recipe: how the worker makes its service.
        deadline: seconds for a message; None for no limit.
        environment: the variables of the worker.

    Attributes:
        state: "starting", "ready", "held" by another curator, "broken" or "stopped".
        text: why it is held or broken. It is for the owner.
        alone: whether the system refuses the network to the worker.
        about: the public description of its data.
        restarts, overdue: how many there were.
    """

    def __init__(
        self,
        name: str,
        recipe: Recipe,
        *,
        deadline: float | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name, self.recipe, self.deadline = name, recipe, deadline
        self.state, self.text, self.alone = "starting", "", False
        self.about: Mapping[str, Any] = {}
        self.restarts = self.overdue = 0
        self._environment = environment_for() if environment is None else dict(environment)
        self._ids = itertools.count(1)
        self._tells, self._reads = WorkerLine(), WorkerLine()
        self._process: Process | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._give_up = self._stopping = False
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def tell(self, path: Path, body: bytes) -> HTTPReply:
        """Send a message; see `Service.tell`.

        Raises:
            NoWorkerError: there is no worker now.
        """
        header = {"verb": "tell", "path": path, "deadline": self.deadline}
        return await self._asked(self._tells, header, body)

    async def feed(self, body: bytes) -> HTTPReply:
        """Take what the owner feeds, however long that takes; see `Service.feed`.

        Raises:
            NoWorkerError: there is no worker now.
        """
        return await self._asked(self._tells, {"verb": "feed"}, body)

    async def describe(self, path: Path) -> HTTPReply:
        """What a root is; see `Service.describe`."""
        return await self._asked(self._reads, {"verb": "describe", "path": path})

    async def view(self, path: Path, after: int) -> HTTPReply:
        """Exchanges after a number; see `Service.view`."""
        return await self._asked(self._reads, {"verb": "view", "path": path, "after": after})

    async def page(self, path: Path, after: int | None = None) -> HTTPReply:
        """What a page shows; see `Service.page`."""
        return await self._asked(self._reads, {"verb": "page", "path": path, "after": after})

    async def status(self) -> HTTPReply:
        """The worker's own report; see `Service.status`."""
        return await self._asked(self._reads, {"verb": "status"})

    @property
    def waiting(self) -> int:
        """How many messages have no reply yet."""
        return len(self._tells.jobs)

    @property
    def pid(self) -> int | None:
        """The number of the worker's process."""
        return None if self._process is None else self._process.pid

    async def ready(self) -> None:
        """Wait until the worker is ready, or cannot be."""
        while self.state == "starting":
            await self._changed.wait()

    def start(self) -> None:
        """Start the worker, and watch it until `stop`."""
        self._task = asyncio.get_running_loop().create_task(self._supervise())

    async def stop(self, patience: float = _PATIENCE) -> None:
        """Finish the messages under way, and let the worker end."""
        self._stopping = True
        waiting = [job.future for job in (*self._tells.jobs, *self._reads.jobs)]
        if waiting and self.state == "ready":
            await asyncio.wait(waiting, timeout=patience)
        self._close()
        if self.state == "broken":
            self._kill()  # it tries again to open what could not be opened
        if self._process is not None:
            try:
                await asyncio.wait_for(self._process.wait(), patience)
            except TimeoutError:
                self._kill()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._fail(NoWorkerError("the curator is stopping"))
        self._now("stopped")

    def _now(self, state: str, text: str = "") -> None:
        self.state, self.text = state, text
        self._changed.set()
        self._changed = asyncio.Event()

    async def _asked(
        self, line: WorkerLine, header: dict[str, Any], body: bytes = b""
    ) -> HTTPReply:
        if self.state != "ready" or self._stopping:
            raise self._unavailable()
        future: asyncio.Future[HTTPReply] = asyncio.get_running_loop().create_future()
        header["id"] = next(self._ids)
        job = Job(header, body, future)
        line.send(job)
        if line is self._tells and len(line.jobs) == 1:
            self._watch()
        return await future

    def _unavailable(self) -> NoWorkerError:
        if self._stopping:
            return NoWorkerError("the curator is stopping")
        match self.state:
            case "held":
                return NoWorkerError(f"another curator serves {self.name} now", after=5)
            case "broken":
                return NoWorkerError(f"{self.name} cannot be opened; the owner knows", after=30)
            case _:
                return NoWorkerError(f"{self.name} is being opened")

    def _watch(self) -> None:
        """Let the deadline of the oldest message begin now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        oldest = self._tells.jobs[0] if self._tells.jobs else None
        if self.deadline is not None and oldest is not None and oldest.header["verb"] == "tell":
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self.deadline, self._late, oldest)

    def _late(self, job: Job) -> None:
        if self.state == "ready" and self._tells.jobs and self._tells.jobs[0] is job:
            self.overdue += 1
            self._give_up = True
            self._kill()

    def _kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(signal.SIGKILL)

    def _take_event(self, frame: MessageFrame) -> None:
        """Take a frame from the channel of messages."""
        match frame.header.get("event"):
            case None:
                self._tells.settle(frame)
                self._watch()
            case "again":
                self._watch()
            case "ready":
                self.alone, self.about = frame.header["alone"], frame.header["about"]
                self._give_up = False
                self._now("ready")
                self._tells.send_again()
                self._reads.send_again()
                self._watch()
            case event:
                self._now(event, frame.header["text"])
                self._fail(self._unavailable())

    def _fail(self, error: Exception) -> None:
        self._tells.give_up(error)
        self._reads.give_up(error)

    def _close(self) -> None:
        self._tells.close()
        self._reads.close()

    async def _supervise(self) -> None:
        failed = 0
        while True:
            was_ready = await self._live()
            if self._stopping:
                return
            self.restarts += 1
            failed = 0 if was_ready else failed + 1
            if failed >= _HOPELESS:
                self._fail(NoWorkerError(f"{self.name} cannot be opened; the owner knows", 30))
            await asyncio.sleep(min(2**failed * FIRST_PAUSE, LONGEST_PAUSE))

    async def _live(self) -> bool:
        """Run one worker until it ends; whether it was ready."""
        try:
            process = await self._begin()
        except OSError:  # no file descriptor or process is left now; later there may be
            self._close()
            return False
        await process.wait()
        was_ready = self.state == "ready"
        for line in (self._tells, self._reads):  # what it sent before it ended is read first
            if line.end is not None:
                await asyncio.wait([line.end.closed], timeout=_LAST)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._close()
        if was_ready and not self._stopping:
            self._blame()
        if self.state not in {"broken", "stopped"}:
            self._now("starting")
        return was_ready

    def _blame(self) -> None:
        """The message that the worker was working on is sent again, a few times at most."""
        if not self._tells.jobs or not self._tells.jobs[0].sent:
            return
        oldest = self._tells.jobs[0]
        oldest.deaths += 1
        if oldest.deaths >= TRIES:
            self._tells.jobs.popleft()
            oldest.settle(
                WorkerDiedError(f"workers of {self.name} died of a message {TRIES} times")
            )

    async def _begin(self) -> Process:
        loop = asyncio.get_running_loop()
        ends: list[socket.socket] = []
        try:
            for line, taken in ((self._tells, self._take_event), (self._reads, self._reads.settle)):
                here, there = socket.socketpair()
                ends.append(there)
                line.transport, line.end = await loop.create_unix_connection(
                    partial(End, taken, self._kill), sock=here
                )
            numbers = [end.fileno() for end in ends]
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "curator.service.workers.worker", *map(str, numbers)),
                stdin=DEVNULL,
                stdout=2,  # what is said on stdout by accident goes to the owner's log
                pass_fds=numbers,
                start_new_session=True,
                env=self._environment,
            )
        finally:
            for end in ends:
                end.close()
        header = {"recipe": attrs.asdict(self.recipe), "give_up": self._give_up}
        header["said"] = self.text  # why the last one could not open, which is in the log once
        assert self._tells.transport is not None
        self._tells.transport.write(MessageFrame(header).packed())
        return self._process


class WorkerDiedError(Exception):
    """So many workers died of a message that it is not sent again."""
