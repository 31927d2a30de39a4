"""`curator serve` on TCP with TLS: certificates, tokens in plain text, and other versions."""

import ssl
import time
from asyncio.constants import SSL_SHUTDOWN_TIMEOUT
from pathlib import Path

import pytest
import trustme

from curator import connect
from curator.client import transport
from curator.client.transport import Patience, Transport
from curator.client.urls import address_of
from curator.owner import orders
from curator.wire import UnavailableError, WireError
from mechanisms import Count, Gaussian
from queryable import ZCDP
from tests.curator.serving import STATED, free_port, served, written


@pytest.mark.slow
def test_a_curator_with_a_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One story, since each process takes a second to start."""
    port, owners, others = free_port(), trustme.CA(), trustme.CA()
    lines = f'listen = "127.0.0.1:{port}"\n{STATED}[tls]\ncertificate = "c.pem"\nkey = "k.pem"\n'
    stated = written(tmp_path / "served", lines)
    issued = owners.issue_cert("localhost")
    issued.cert_chain_pems[0].write_to_path(stated.parent / "c.pem")
    issued.private_key_pem.write_to_path(stated.parent / "k.pem")
    trusting, wrong = ssl.create_default_context(), ssl.create_default_context()
    owners.configure_trust(trusting)
    others.configure_trust(wrong)
    token, url = orders.add_analyst(stated, "ada"), f"https://localhost:{port}"
    orders.grant(stated, "visits", "ada", zcdp="1/50")
    with served(stated) as curator:
        with connect(url, token, tls=trusting) as there:
            table = there["visits"]
            table.launch(Gaussian(Count(), rho="1/1000"), name="rows")
            assert table.privacy_loss() == ZCDP("1/1000")
        for context in (wrong, None):
            with pytest.raises(UnavailableError, match=r"is not trusted here.*cafile"):
                connect(url, token, tls=context)
        with pytest.raises(UnavailableError, match=r"is not trusted here.*127\.0\.0\.1"):
            connect(f"https://127.0.0.1:{port}", token, tls=trusting)  # a name of another machine
        with pytest.raises(UnavailableError, match="did not answer"):
            connect(f"http://127.0.0.1:{port}", token, patience=0.1)
        with pytest.raises(ValueError, match="write https"):
            connect(f"http://data.example:{port}", token)

        # A second curator's certificate is wrong: the first one is asked.
        with connect([f"https://127.0.0.1:{port}", url], token, tls=trusting) as there:
            assert there["visits"].launch(Gaussian(Count(), rho="1/1000"), name="rows") == (
                table.view[0].answer.answer
            )

        monkeypatch.setattr(transport, "VERSION", 2)
        with pytest.raises(WireError, match="is '2'; this curator speaks version 1"):
            connect(url, token, tls=trusting)
        with pytest.raises(WireError, match=r"not of version 2 .*'1'"):  # of one that answers
            transport._require_version("1")
        speaking = Transport([address_of(url)], token, Patience(), trusting)
        with pytest.raises(WireError, match="is '2'; this curator speaks version 1"):
            speaking.get("/v1/datasets")
        speaking.close()
        began = time.monotonic()  # the client has an idle connection, which it does not read
        assert curator.stop() == 0
        assert time.monotonic() - began < SSL_SHUTDOWN_TIMEOUT
        log = (curator.folder / "log").read_text()
        assert "Traceback" not in log
        assert token not in log
