"""A curator whose models of rows take as many seconds as a file says; for tests with processes."""

import os
import time
from pathlib import Path
from typing import Any

from curator.commands import main as run
from curator.service import serve
from curator.service.answering.opening import configured
from mechanisms.synthetic import fitting
from tests.curator.serving import Served

SECONDS = "seconds"
"""The file of the folder of the configuration that says how long; and in `FITS` a line for each."""
FITS = "fits"


class Slowed(Served):
    """A curator whose workers look for the file."""

    program = "from tests.curator.slowing import main; main()"

    def takes(self, seconds: float, *, once: bool = False) -> None:
        """Let each model take so long from now on, or the next one."""
        (self.folder / SECONDS).write_text(f"{seconds}{' once' * once}")
        (self.folder / FITS).write_text("")

    @property
    def fits(self) -> int:
        """How many models were begun since then."""
        return len((self.folder / FITS).read_text())


def main() -> None:
    """The command line, with such workers."""
    serve.CONFIGURED = f"{slowed.__module__}:{slowed.__name__}"  # type: ignore[misc]
    run()


def slowed(file: str, **arguments: Any) -> Any:
    """As `configured`, with models that take long."""
    folder, real = Path(file).parent, fitting.fitted

    def fitted(*given: Any) -> Any:
        if (folder / SECONDS).exists():
            with (folder / FITS).open("a") as told:
                told.write(f"{os.getpid() % 10}")
            seconds, *once = (folder / SECONDS).read_text().split()
            if once:
                (folder / SECONDS).unlink()
            time.sleep(float(seconds))
        return real(*given)

    fitting.fitted = fitted  # type: ignore[assignment]
    return configured(file, **arguments)
