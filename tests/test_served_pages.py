"""The pages for analysts run against a real curator: their code, and the requests of the protocol.

`python tests/test_served_pages.py` writes the replies into the page about the protocol.
"""

import contextlib
import json
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from curator.client.urls import address_of
from tests import test_docs, test_readme
from tests.serving import running, typed

DOCS = Path(__file__).parents[1] / "docs"
PROTOCOL = DOCS / "protocol.md"
ASKED = re.compile(
    r"^```text\n(?P<verb>GET|POST) (?P<target>\S+)\n(?:\n(?P<body>\{.*?))?```\n\n"
    r"^```json\n(?P<reply>.*?)```$",
    flags=re.MULTILINE | re.DOTALL,
)
RANDOM = re.compile(r"[0-9a-f]{64}")


@contextlib.contextmanager
def curated() -> Iterator[None]:
    """A curator by the commands of the README; the tokens of three analysts are in files."""
    [source, *_] = test_readme.blocks("python", test_readme.text())
    exec(source, {})  # writes the file
    begin, grants = test_readme.blocks("console", test_readme.parted()[1])
    init, copy, serve = (shlex.split(line.removeprefix("$ ")) for line in begin.splitlines())
    add, token, grant = (line.removeprefix("$ ") for line in grants.splitlines())
    typed(*init[1:])
    assert (copy[0], serve[:2], token) == ("cp", ["curator", "serve"], "qy_...")
    shutil.copy(*copy[1:])
    with running(*serve[2:]):
        for name in ("ada", "bo", "cy"):
            found = typed(*shlex.split(add.replace("ada", name))[1:])
            assert found.startswith("qy_")
            Path(f"{name}.token").write_text(found)
            typed(*shlex.split(grant.replace("ada", name))[1:])
        yield


def requested(verb: str, target: str, body: str | None) -> Any:
    """What the curator replies to bo."""
    connection = address_of("unix:clinic/curator.sock").connection(60)
    token = Path("bo.token").read_text()
    headers = {"Authorization": f"Bearer {token}", "Queryable-Protocol": "1"}
    connection.request(verb, target, body, headers)
    response = connection.getresponse()
    reply = json.loads(response.read())
    connection.close()
    assert (response.status == 200) is ("error" not in reply)
    return reply


def is_alike(shown: Any, got: Any, name: str = "") -> bool:
    """Whether a reply is as shown, but for noise, hashes and the package's version."""
    if type(shown) is not type(got):
        return False
    if isinstance(shown, dict):
        return shown.keys() == got.keys() and all(is_alike(shown[k], got[k], k) for k in shown)
    if isinstance(shown, list):
        return len(shown) == len(got) and all(map(is_alike, shown, got))
    if isinstance(shown, str) and RANDOM.fullmatch(shown):
        return RANDOM.fullmatch(got) is not None
    return shown == got or name in {"value", "version"}


def require_protocol() -> None:
    """Check the replies of the page about the protocol."""
    asked = list(ASKED.finditer(PROTOCOL.read_text("utf-8")))
    assert len(asked) >= 10
    for each in asked:
        got = requested(each["verb"], each["target"], each["body"])
        assert is_alike(json.loads(each["reply"]), got), (each["body"], got)


@pytest.mark.slow
def test_pages_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All in one test, since a curator takes seconds to start."""
    monkeypatch.chdir(tmp_path)
    with curated():
        require_protocol()
        [source] = test_readme.blocks("python", test_readme.parted()[1])
        source = source.replace("qy_...", Path("ada.token").read_text())
        exec(compile(source, "README.md", "exec"), {})
        assert "2000 in Oslo?" in capsys.readouterr().out
        shutil.copy("cy.token", "ada.token")
        names: dict[str, Any] = {}
        for block in test_docs.BLOCK.findall((DOCS / "asking.md").read_text("utf-8")):
            exec(compile(block, "asking.md", "exec"), names)
        assert "2000 in Oslo?" in capsys.readouterr().out
        assert "ada: has a token; visits" in typed("status", "clinic")


def test_other_replies_are_noticed() -> None:
    shown = {"seq": 1, "head": {"hash": "0" * 64}, "value": 5}
    assert is_alike(shown, {"seq": 1, "head": {"hash": "f" * 64}, "value": 6})
    for other in (
        {**shown, "seq": 2},
        {**shown, "more": 1},
        {**shown, "value": "5"},
        {**shown, "head": {"hash": "0"}},
        {**shown, "head": []},
    ):
        assert not is_alike(shown, other)


def _written(page: str) -> str:
    def with_reply(each: re.Match[str]) -> str:
        reply = requested(each["verb"], each["target"], each["body"])
        before, _, _ = each[0].rpartition("```json\n")
        return f"{before}```json\n{_wrapped(reply)}\n```"

    return ASKED.sub(with_reply, page)


def _wrapped(value: Any, indent: str = "") -> str:
    """JSON in lines of at most 110 characters."""
    text = json.dumps(value)
    if len(indent + text) <= 108 or not isinstance(value, dict | list):
        return text
    inner = indent + " "
    if isinstance(value, list):
        return "[" + f",\n{inner}".join(_wrapped(each, inner) for each in value) + "]"
    parts = [f"{json.dumps(k)}: {_wrapped(each, inner)}" for k, each in value.items()]
    return "{" + f",\n{inner}".join(parts) + "}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as there, contextlib.chdir(there), curated():
        PROTOCOL.write_text(_written(PROTOCOL.read_text("utf-8")), "utf-8")
