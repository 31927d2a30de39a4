"""A curator that kills itself at a stated step while it takes a batch; for tests with processes."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from curator.commands import main as run
from curator.logs.journal import LedgerJournal
from curator.service import serve
from curator.service.answering import feeding
from curator.service.answering.opening import configured
from tests.curator.serving import Served

STEPS = ("read", "stepped", "logged", "moved", "answered")
"""The file was read; the new state is there; the event is on disk; the state moved; a reply is."""
DIE = "die"
"""The file of the folder of the configuration that says at which step, and who."""


class Dying(Served):
    """A curator whose workers look for the file."""

    program = "from tests.curator.feeding import main; main()"


def main() -> None:
    """The command line, with such workers, or in such a process."""
    serve.CONFIGURED = f"{dying.__module__}:{dying.__name__}"  # type: ignore[misc]
    at = os.environ.get("PYTHON_DIE_IN")
    if at is not None:
        patch(Path(at))
    run()


def dying(file: str, **arguments: Any) -> Any:
    """As `configured`, in a process that may die."""
    patch(Path(file).parent)
    return configured(file, **arguments)


def patch(folder: Path) -> None:
    """Let this process look for the file in a folder at each step."""

    def at(step: str) -> None:
        said = folder / DIE
        if not said.exists() or not said.read_text().startswith(step):
            return
        who = said.read_text().split()[1]
        said.unlink()
        if who == "both":
            os.kill(os.getppid(), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

    def before(function: Callable[..., Any], step: str) -> Callable[..., Any]:
        def stepped(*arguments: Any, **named: Any) -> Any:
            at(step)
            return function(*arguments, **named)

        return stepped

    def after(function: Callable[..., Any], step: str, kind: str = "") -> Callable[..., Any]:
        def stepped(*arguments: Any, **named: Any) -> Any:
            found = function(*arguments, **named)
            if not kind or kind in arguments:
                at(step)
            return found

        return stepped

    feeding.require_readable = after(feeding.require_readable, "read")
    journal: Any = LedgerJournal
    journal.grow = before(journal.grow, "stepped")
    journal.append = after(journal.append, "logged", "update")
    journal.grown = after(journal.grown, "moved")
    feeder: Any = feeding.Feeder
    feeder.take = after(feeder.take, "answered")
