"""Addresses: what is one, and what is refused because a token would travel in the open."""

import math

import pytest

from curator.client import transport
from curator.client.urls import Address, address_of


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("unix:/run/curator.sock", Address("unix:/run/curator.sock", path="/run/curator.sock")),
        ("unix:curator.sock", Address("unix:curator.sock", path="curator.sock")),
        ("http://127.0.0.1:8080", Address("http://127.0.0.1:8080", host="127.0.0.1", port=8080)),
        ("http://[::1]:80", Address("http://[::1]:80", host="::1", port=80)),
        ("http://localhost", Address("http://localhost", host="localhost")),
        ("https://data.example/", Address("https://data.example/", host="data.example", tls=True)),
    ],
)
def test_addresses(text: str, address: Address) -> None:
    assert address_of(text) == address


@pytest.mark.parametrize(
    "text",
    [
        *("", "unix:", "curator.sock", "ftp://localhost", "http://", "https://host/path"),
        *("https://host?x=1", "https://me:secret@host", "http://localhost:99999", "http://[::1"),
    ],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match='write "unix:PATH"'):
        address_of(text)


@pytest.mark.parametrize("host", ["data.example", "10.0.0.1", "0.0.0.0", "127.0.0.1.data.example"])
def test_other_machines_need_tls(host: str) -> None:
    with pytest.raises(ValueError, match="write https"):
        address_of(f"http://{host}:8080")


def test_an_address_is_text() -> None:
    with pytest.raises(TypeError):
        address_of(7)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("2", 2.0), ("-1", 0.0), ("nan", 0.0), ("inf", math.inf), ("Sun, 01 Nov", 0.0), (None, 0.0)],
)
def test_whatever_a_reply_asks_to_wait_can_be_waited(text: str | None, seconds: float) -> None:
    assert transport._seconds(text) == seconds
