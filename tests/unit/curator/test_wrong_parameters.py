"""Texts, names and arguments that the curator refuses, each with a part of the message."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import curator
from composition import FiltCon, Odom
from curator import Anchor
from curator.access.changes import change_of, checked_analyst
from curator.client.urls import address_of
from curator.codec import CODEC, CodecError, Entry, decode, encode, entry_of, with_site
from curator.fingerprints import fingerprint
from curator.ledgers import LedgerError, following, ledger_of
from curator.logs.batch_files import checked_id
from curator.lost import Lost
from curator.service.workers.frames import LIMIT, FrameError, Frames
from curator.wire import Tell, WireError, chosen_version
from curator.wire.bodies import TELL_LIMITS
from mechanisms import Gaussian
from queryable import ZCDP, PureDP, QueryError
from tests.stored import MemoryLedger
from tests.wrong import EITHER, Row, named, rows, starred

GRANT = {"do": "grant", "analyst": "a", "dataset": "v", "child": "0", "name": "a", "mechanism": ""}
AGAIN, OTHER = entry_of("gaussian/1", Gaussian), entry_of("tests.gaussian/1", Gaussian)
SECRET = b"0123456789abcdef" * 2
OPENED, CALLS = following(None, "visits", 1, "opened", "{}"), ("calls", 1, "intent", "{}")


def array(given: tuple[str, str, str]) -> object:
    dtype, items, shape = given
    return decode(f'{{"@":"array/1","dtype":"{dtype}","items":{items},"shape":{shape}}}')


def field(name: str) -> object:
    return Entry("tests.a/1", (int,), {name: int}, lambda value: (value,), int)


def tag(given: Any) -> object:
    return entry_of(given, PureDP)


def frames(data: bytes) -> object:
    return list(Frames().feed(data))


def joined(entry: Entry) -> object:
    return CODEC.joined([entry])


def first(kind: str) -> object:
    return following(None, "visits", 1, kind, "{}")


def recognised(data: Any) -> object:
    return fingerprint(data, SECRET)


def anchored(root: Any) -> object:
    anchor = Anchor("/nowhere/never-written", block=PureDP(1))
    return curator.open(MemoryLedger(), root, [1], name="a", key=SECRET, anchor=anchor)


def plain(host: str) -> object:
    return address_of(f"http://{host}:8080")


def lists(items: str) -> object:
    return decode(f'{{"@":"dict/1","items":{items}}}')


ROWS: list[Row] = [
    # analysts and addresses
    (ValueError, "name an analyst", checked_analyst, ["", " ada", "ada 2", "@access", "-ada"]),
    (ValueError, "name an analyst", checked_analyst, ["a" * 101, "ada/2", "a\nb", "ä", None, 3]),
    (ValueError, "nothing about the access", change_of, [None, [], {}, {"do": "reset"}]),
    (TypeError, "token", change_of, [{"do": "add", "analyst": "ada"}]),
    (ValueError, "token", change_of, [{"do": "add", "analyst": "ada", "token": "short"}]),
    (TypeError, "child", change_of, [GRANT]),
    (TypeError, "more", change_of, [{"do": "revoke", "analyst": "ada", "more": 1}]),
    (ValueError, 'write "unix:PATH"', address_of, ["", "unix:", "curator.sock", "ftp://localhost"]),
    (ValueError, 'write "unix:PATH"', address_of, ["http://", "https://host/path", "http://[::1"]),
    (ValueError, 'write "unix:PATH"', address_of, ["https://host?x=1", "https://me:secret@host"]),
    (ValueError, 'write "unix:PATH"', address_of, ["http://localhost:99999"]),
    (ValueError, "write https", plain, ["data.example", "10.0.0.1", "0.0.0.0"]),
    (ValueError, "write https", plain, ["127.0.0.1.data.example"]),
    (TypeError, "url is 7", address_of, [7]),
    # texts; a dtype of long texts would need memory that the text does not have
    (CodecError, "booleans, integers or floats", encode, [np.array(["a"]), np.array([b"a"])]),
    (CodecError, "booleans, integers or floats", encode, [np.zeros(1, "M8[s]")]),
    *(
        (CodecError, "should be a dtype of booleans", array, [(dtype, "[1]", "[1]")])
        for dtype in ("<U1000000000", "|S9", "|V8", "M8[s]", ">i8", "<i16", "O", "int")
    ),
    *(
        (CodecError, "as many items", array, [("<i8", "[1,2]", shape)])
        for shape in ("[3]", "[-1]", "[-1,-2]", "[2,2]", "[]", "[0,9007199254740992]")
    ),
    (CodecError, "different keys", lists, ["[[1,2],[1,3]]"]),
    (CodecError, "unhashable", lists, ['[[{"@":"list/1","items":[]},3]]']),
    # tags
    (ValueError, "the tag gaussian/1 is there twice", joined, [AGAIN]),
    (ValueError, "Gaussian has two tags", joined, [OTHER]),
    (ValueError, 'a name and a version: "gaussian/1"', tag, ["gaussian", "Gaussian/1", "a/1/2"]),
    (ValueError, 'a name and a version: "gaussian/1"', tag, ["gaussian/0", "/1", "a b/1", 7]),
    (TypeError, "is no attrs class: write an Entry", starred(entry_of), [("tests.int/1", int)]),
    # names of fields need no escapes, and follow the tag in the order of a text
    (ValueError, "write it in lower case", field, ["@", "Name", "", 'a"', "_a"]),
    (TypeError, "a list of entry points", with_site, ["acme.bits/1"]),
    # ledgers
    (ValueError, "kind must be one of opened, intent", first, ["intend"]),
    (ValueError, "root 'visits', not to 'calls'", starred(following, OPENED), [CALLS]),
    (LedgerError, "starts with mysql://", ledger_of, ["mysql://localhost/ledger"]),
    (QueryError, "the id is", checked_id, ["", "../a", "a/b", ".a", "-a", "a" * 101, "ä", "a\n"]),
    (QueryError, "the id is", checked_id, ["a b", None, 7, b"a"]),
    (TypeError, "block should be a loss", partial(Anchor, "a"), ["1/10"]),
    (ValueError, "block is PureDP.*ZCDP", anchored, [FiltCon(ZCDP(1)), Odom(ZCDP)]),
    (TypeError, "InteractiveMechanism", anchored, [ZCDP(1)]),
    # what is lost is charged as for a group, whose size is computed from d_in
    (EITHER, "d_in", named(Lost, ZCDP("1/50")), [{"d_in": 0}, {"d_in": -1}, {"d_in": "2"}]),
    (EITHER, "retires_others", named(Lost, ZCDP("1/50")), [{"retires_others": 1}]),
    (TypeError, "cannot be recognised after a restart", recognised, [object()]),
    # messages
    (
        FrameError,
        "no header",
        frames,
        [b"\0\0\0\2{}", b"\0\0\0\3[]\n", b"\0\0\0\3no\n", b"\0\0\0\0"],
    ),
    (FrameError, "is the most", frames, [(LIMIT + 1).to_bytes(4, "big")]),
    (WireError, "is not JSON", Tell.read, [b"", b"{", b'{"key":NaN}']),
    (WireError, "should be an object", Tell.read, [b"[]", b"null"]),
    (WireError, "UTF-8", Tell.read, [b"\xff"]),
    (WireError, "is the most", Tell.read, [b"[" * 2000, b" " * (TELL_LIMITS.bytes + 1)]),
    (WireError, "digits", Tell.read, [b'{"key":' + b"9" * 5000 + b"}"]),
    (WireError, "too large", Tell.read, [b'{"key":"' + SECRET + b'","path":[],"query":1e999}']),
    (WireError, "a field twice", Tell.read, [b'{"key":"a","key":"a"}']),
    (WireError, "speaks version 1", chosen_version, [None, "", "2", "01", " 1", "1.0", "one"]),
]


@pytest.mark.parametrize(("error", "words", "call"), rows(*ROWS))
def test_a_wrong_parameter_is_named(error: Any, words: Any, call: Any) -> None:
    with pytest.raises(error, match=words):
        call()
