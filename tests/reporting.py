"""A curator for tests of the review: several data sets, analysts, budgets and checks.

`python -m tests.reporting` writes docs/report_example.md, its review, anew.
"""

import hashlib
import json
import re
import tempfile
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import curator
from composition import FiltCon
from curator import commands
from curator.owner import orders
from curator.reports.facts import snapshot_of
from curator.reports.pages import page
from curator.reports.reviewing import document_of
from curator.settings.configuration import read_configuration
from mechanisms import Count, Gaussian, SparseVector
from queryable import ZCDP, InteractiveError, PureDP, Queryable

EXAMPLE = Path(__file__).parent.parent / "docs" / "report_example.md"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
STATED = """
ledger = "ledger.db"
key = "noise.key"
deadline = 30

[report]
data_curator = "A clinic"
intended_use = "Planning of staff"

[datasets.visits]
source = "visits.csv"
privacy_unit = "patient"
max_rows = 4
types = { patient = "INTEGER", age = "INTEGER" }
budget = { zcdp = "1/10" }

[datasets.calls]
source = "calls.csv"
types = { minutes = "INTEGER" }
tick = "1/10"
budget = { epsilon = 1, delta = "1e-6", rule = "basic" }

[datasets.surveys]
source = "surveys.csv"
neighbours = "substitute"
budget = { gdp = "1/2" }
"""


def clinic(folder: Path, rows: int = 300, first: int = 0) -> Path:
    """The configuration of a curator that was used for a while.

    Args:
        rows: how many rows the data have.
        first: the first value of the cells.
    """
    commands.init(folder)
    stated = folder / "curator.toml"
    stated.write_text(STATED)
    cells = [(number % (rows // 2), first + number % 80) for number in range(rows)]
    (folder / "visits.csv").write_text(
        "patient,age\n" + "".join(f"{patient},{age}\n" for patient, age in cells)
    )
    (folder / "calls.csv").write_text("minutes\n" + "".join(f"{age}\n" for _, age in cells))
    for name in ("ada", "bo"):
        orders.add_analyst(stated, name)
    orders.grant(stated, "visits", "ada", zcdp="1/50")
    orders.grant(stated, "visits", "ada", zcdp="1/100")
    orders.grant(stated, "calls", "bo", epsilon="1/10")
    orders.revoke_analyst(stated, "bo")
    visits, table = curator.open_configured(stated, "visits")
    table.children[0].launch(Gaussian(visits.count(), rho="1/50"), name="all of it")
    table.children[1].launch(Gaussian(visits.count(), rho="1/1000"))
    refused(table.children[0], Gaussian(visits.count(), rho="1/50"))
    above = table.launch(SparseVector(5000, epsilon="1/10", sensitivity=4), name="above")
    above(visits.count())
    table.release(visits.mean("age", 0, 90), loss=ZCDP("1/500"))
    curator.release(table)
    visits.close()
    calls, table = curator.open_configured(stated, "calls")
    table.release(calls.count(), loss=PureDP("9/10"))
    refused(table, Gaussian(calls.count(), rho="1/50"))
    curator.release(table)
    calls.close()
    earlier = curator.open(
        folder / "ledger.db", FiltCon(ZCDP(1)), {"age": [31] * rows}, name="earlier",
        key=str(folder / "noise.key"),
    )  # fmt: skip
    earlier(Gaussian(Count(), rho=1))
    curator.release(earlier)
    heads = snapshot_of(read_configuration(stated)).heads()
    record(folder, "replay", {"visits": heads["visits"]["hash"]}, result="passed", messages=6)
    record(folder, "check", {"calls": heads["calls"]["hash"]}, result="failed", neighbours=1000)
    return stated


def key_file(folder: Path, name: str = "owner", key: Any = None) -> Path:
    """A private key, with its public key beside it; by default a new one for Ed25519."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    key = Ed25519PrivateKey.generate() if key is None else key
    path = folder / f"{name}.pem"
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    path.chmod(0o600)
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (folder / f"{name}.pub").write_bytes(public)
    return path


def refused(handle: Queryable, mechanism: Any) -> None:
    """Ask what costs more than what is left."""
    with suppress(InteractiveError):
        handle.launch(mechanism)
        raise AssertionError("it was not refused")


def record(folder: Path, command: str, head: Any, *, result: Any, **facts: Any) -> None:
    """Record a check, as a curator's commands do."""
    line = {
        "time": NOW.isoformat(),
        "command": command,
        "head": head,
        "result": result,
        "facts": facts,
    }
    with (folder / "checks.jsonl").open("a") as lines:
        lines.write(json.dumps(line) + "\n")


def example() -> str:
    """The review of the clinic, without the document that it carries.

    Hashes depend on the key and on the time, so others stand in their places.
    """
    with tempfile.TemporaryDirectory() as name:
        stated = read_configuration(clinic(Path(name) / "clinic"))
        text = page(document_of(stated, NOW, "queryable-dp"), "markdown")
    hashes = dict.fromkeys(re.findall(r"\b[0-9a-f]{64}\b", text))
    for number, each in enumerate(hashes):
        text = text.replace(each, hashlib.sha256(b"%d" % number).hexdigest())
    return text.partition("\n## Document")[0]


if __name__ == "__main__":
    EXAMPLE.write_text(example(), encoding="utf-8")
