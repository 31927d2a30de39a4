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
    ("text", "seconds"),
    [("2", 2.0), ("-1", 0.0), ("nan", 0.0), ("inf", math.inf), ("Sun, 01 Nov", 0.0), (None, 0.0)],
)
def test_whatever_a_reply_asks_to_wait_can_be_waited(text: str | None, seconds: float) -> None:
    assert transport._seconds(text) == seconds
