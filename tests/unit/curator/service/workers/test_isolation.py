import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[5]

PROGRAM = """
import socket, sys
from curator.service.workers import isolation
if {alone}:
    isolation._in_own_namespace = lambda: False
isolation.forbid_network()
one, other = socket.socketpair()
one.sendall(b"x")
assert other.recv(1) == b"x"
tries = [
    lambda: socket.create_connection(("127.0.0.1", 9)),
    lambda: socket.getaddrinfo("localhost", 80),
    lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9)),
    lambda: socket.socket(socket.AF_INET6).connect(("::1", 9)),
    lambda: socket.socket().bind(("127.0.0.1", 0)),
]
for attempt in tries:
    try:
        attempt()
    except PermissionError as error:
        assert "no network" in str(error)
    else:
        sys.exit(1)
"""


@pytest.mark.parametrize("alone", [True, False])
def test_a_worker_has_no_network(alone: bool) -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM.format(alone=alone)], cwd=ROOT, check=False)
    assert run.returncode == 0
