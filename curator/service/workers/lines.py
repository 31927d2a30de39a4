"""`WorkerLine`: a channel to a worker, and what waits on it for a reply.

A worker answers in order, so a reply is that of the oldest one. Knows no process.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

import attrs

from curator.service.services import HTTPReply
from curator.service.workers.frames import FrameError, Frames, MessageFrame


@attrs.define(eq=False)
class Job:
    """A message or question without a reply.

    Attributes:
        sent: whether it was written to a worker.
        deaths: how many workers have died while they worked on it.
    """

    header: dict[str, Any]
    body: bytes
    future: "asyncio.Future[HTTPReply]"
    sent: bool = False
    deaths: int = 0

    @property
    def frame(self) -> bytes:
        """As it is sent."""
        return MessageFrame(self.header, self.body).packed()

    def settle(self, reply: HTTPReply | Exception) -> None:
        """Give whoever waits the reply, unless nobody does any more."""
        if self.future.done():
            return
        if isinstance(reply, Exception):
            self.future.set_exception(reply)
        else:
            self.future.set_result(reply)


class End(asyncio.Protocol):
    """The front's end of a channel."""

    def __init__(self, taken: Callable[[MessageFrame], None], broken: Callable[[], None]) -> None:
        self._frames, self._taken, self._broken = Frames(), taken, broken
        self.closed = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        """Take the frames that have arrived as a whole."""
        try:
            for frame in self._frames.feed(data):
                self._taken(frame)
        except (FrameError, LookupError):
            self._broken()

    def connection_lost(self, _: Exception | None) -> None:
        """Everything that was sent has been read."""
        if not self.closed.done():
            self.closed.set_result(None)


class WorkerLine:
    """A channel to the worker, and the jobs on it, oldest first."""

    def __init__(self) -> None:
        self.jobs: deque[Job] = deque()
        self.transport: asyncio.Transport | None = None
        self.end: End | None = None

    def send(self, job: Job) -> None:
        """Send a job after all others."""
        self.jobs.append(job)
        self._write(job)

    def _write(self, job: Job) -> None:
        """Send a job; where the worker has just ended, leave it for the next one."""
        if self.transport is not None and not self.transport.is_closing():
            job.sent = True
            self.transport.write(job.frame)

    def settle(self, frame: MessageFrame) -> None:
        """Take the reply to the oldest job.

        Raises:
            FrameError: it is the reply to another one.
            LookupError: there is no job, or it is no reply.
        """
        job = self.jobs[0]
        if job.header["id"] != frame.header["id"]:
            raise FrameError("a worker answered another message than the oldest one")
        self.jobs.popleft()
        job.settle(HTTPReply(frame.header["status"], frame.body))

    def send_again(self) -> None:
        """Send all jobs to a worker that has started."""
        for job in self.jobs:
            self._write(job)

    def give_up(self, error: Exception) -> None:
        """Answer all jobs with an error."""
        for job in self.jobs:
            job.settle(error)
        self.jobs.clear()

    def close(self) -> None:
        """Close the channel; the jobs stay."""
        if self.transport is not None:
            self.transport.close()
            self.transport = None
