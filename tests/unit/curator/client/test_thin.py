"""A client imports no database, no server and no engine."""

import subprocess
import sys
from pathlib import Path

HEAVY = {
    *("sqlite3", "psycopg", "starlette", "uvicorn", "httptools", "typer", "duckdb", "ibis"),
    *("pandas", "polars", "pyarrow", "scipy", "matplotlib"),
    *("curator.ledgers", "curator.root", "curator.service", "curator.access", "curator.keys"),
}
PROGRAM = f"""
import sys
from curator import connect
from curator.codec import decode, encode
from mechanisms import Count, Gaussian
assert decode(encode(Gaussian(Count(), rho=1))) == Gaussian(Count(), rho=1)
try:
    connect("unix:/nowhere", "token", patience=0)
except Exception as error:
    assert "/nowhere" in str(error)
print(sorted({HEAVY!r} & set(sys.modules)))
"""


def test_a_client_is_thin() -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        cwd=Path(__file__).parents[4],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.stdout.strip(), run.stderr) == ("[]", "")
