"""What was checked and when: `checks.jsonl` beside the ledger, for the owner and their reviewers.

Responsible for the lines of that file: one JSON object for each check, which is only added. A line
has no record of the data and no answer, and no analyst sees it.
"""

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from curator.settings.file_errors import in_words

NAME = "checks.jsonl"


def folder_of(ledger: str, configuration: Path | None) -> Path | None:
    """The folder of a ledger, or of the configuration of one in a database; None if there is none.

    Args:
        ledger: the path of its file, or the address of a database.
    """
    if "://" not in ledger:
        return Path(ledger).absolute().parent
    return None if configuration is None else configuration.absolute().parent


def record_check(
    folder: Path | None, command: str, result: bool, *, head: Mapping[str, str], **facts: Any
) -> str:
    """Note a check. It fails no check if that cannot be written; the text says so then.

    Args:
        folder: where the file is; None if there is no place for one.
        command: "ledger verify", "replay" or "check".
        result: whether it has passed.
        head: the hash of the last event that was checked, by root.
        facts: numbers of what was compared.
    """
    if folder is None:
        return ""
    said = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "head": dict(head),
        "result": "passed" if result else "failed",
        "facts": facts,
    }
    line = f"{json.dumps(said)}\n".encode()
    try:
        file = os.open(folder / NAME, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, line)
        finally:
            os.close(file)
    except OSError as error:
        return f"\nThis check is not noted: {in_words(error)}"
    return ""
