"""Texts, names and arguments that the curator refuses, each with a part of the message."""

from typing import Any

import numpy as np
import pytest

from curator.access.changes import change_of, checked_analyst
from curator.client.urls import address_of
from curator.codec import CODEC, CodecError, Entry, decode, encode, entry_of, with_site
from curator.fingerprints import fingerprint
from curator.ledgers import LedgerError, following, ledger_of
from curator.logs.batch_files import checked_id
from curator.lost import Lost
from curator.service.workers.frames import LIMIT, FrameError, Frames
from curator.wire import Tell, WireError, chosen_version
from curator.wire.messages import TELL_LIMITS
from mechanisms import Gaussian
from queryable import ZCDP, PureDP, QueryError
from tests.wrong import EITHER, Row, each, named, starred

GRANT = {"do": "grant", "analyst": "a", "dataset": "v", "child": "0", "name": "a", "mechanism": ""}
AGAIN, OTHER = entry_of("gaussian/1", Gaussian), entry_of("tests.gaussian/1", Gaussian)
SECRET = b"0123456789abcdef" * 2


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


def plain(host: str) -> object:
    return address_of(f"http://{host}:8080")


def lists(items: str) -> object:
    return decode(f'{{"@":"dict/1","items":{items}}}')


ROWS: list[Row] = [
    # analysts and addresses
    (checked_analyst, ValueError, "name an analyst", ["", " ada", "ada 2", "@access", "-ada"]),
    (checked_analyst, ValueError, "name an analyst", ["a" * 101, "ada/2", "a\nb", "ä", None, 3]),
    (change_of, ValueError, "nothing about the access", [None, [], {}, {"do": "reset"}]),
    (change_of, TypeError, "token", [{"do": "add", "analyst": "ada"}]),
    (change_of, ValueError, "token", [{"do": "add", "analyst": "ada", "token": "short"}]),
    (change_of, TypeError, "child", [GRANT]),
    (change_of, TypeError, "more", [{"do": "revoke", "analyst": "ada", "more": 1}]),
    (address_of, ValueError, 'write "unix:PATH"', ["", "unix:", "curator.sock", "ftp://localhost"]),
    (address_of, ValueError, 'write "unix:PATH"', ["http://", "https://host/path", "http://[::1"]),
    (address_of, ValueError, 'write "unix:PATH"', ["https://host?x=1", "https://me:secret@host"]),
    (address_of, ValueError, 'write "unix:PATH"', ["http://localhost:99999"]),
    (plain, ValueError, "write https", ["data.example", "10.0.0.1", "0.0.0.0"]),
    (plain, ValueError, "write https", ["127.0.0.1.data.example"]),
    (address_of, TypeError, "url is 7", [7]),
    # texts; a dtype of long texts would need memory that the text does not have
    (encode, CodecError, "booleans, integers or floats", [np.array(["a"]), np.array([b"a"])]),
    (encode, CodecError, "booleans, integers or floats", [np.zeros(1, "M8[s]")]),
    *(
        (array, CodecError, "should be a dtype of booleans", [(dtype, "[1]", "[1]")])
        for dtype in ("<U1000000000", "|S9", "|V8", "M8[s]", ">i8", "<i16", "O", "int")
    ),
    *(
        (array, CodecError, "as many items", [("<i8", "[1,2]", shape)])
        for shape in ("[3]", "[-1]", "[-1,-2]", "[2,2]", "[]", "[0,9007199254740992]")
    ),
    (lists, CodecError, "different keys", ["[[1,2],[1,3]]"]),
    (lists, CodecError, "unhashable", ['[[{"@":"list/1","items":[]},3]]']),
    # tags
    (joined, ValueError, "the tag gaussian/1 is there twice", [AGAIN]),
    (joined, ValueError, "Gaussian has two tags", [OTHER]),
    (tag, ValueError, 'a name and a version: "gaussian/1"', ["gaussian", "Gaussian/1", "a/1/2"]),
    (tag, ValueError, 'a name and a version: "gaussian/1"', ["gaussian/0", "/1", "a b/1", 7]),
    (starred(entry_of), TypeError, "is no attrs class: write an Entry", [("tests.int/1", int)]),
    # names of fields need no escapes, and follow the tag in the order of a text
    (field, ValueError, "write it in lower case", ["@", "Name", "", 'a"', "_a"]),
    (with_site, TypeError, "a list of entry points", ["acme.bits/1"]),
    # ledgers
    (first, ValueError, "kind must be one of opened, intent", ["intend"]),
    (ledger_of, LedgerError, "starts with mysql://", ["mysql://localhost/ledger"]),
    (checked_id, QueryError, "the id is", ["", "../a", "a/b", ".a", "-a", "a" * 101, "ä", "a\n"]),
    (checked_id, QueryError, "the id is", ["a b", None, 7, b"a"]),
    # what is lost is charged as for a group, whose size is computed from d_in
    (named(Lost, ZCDP("1/50")), EITHER, "d_in", [{"d_in": 0}, {"d_in": -1}, {"d_in": "2"}]),
    (named(Lost, ZCDP("1/50")), EITHER, "retires_others", [{"retires_others": 1}]),
    (recognised, TypeError, "cannot be recognised after a restart", [object()]),
    # messages
    (
        frames,
        FrameError,
        "no header",
        [b"\0\0\0\2{}", b"\0\0\0\3[]\n", b"\0\0\0\3no\n", b"\0\0\0\0"],
    ),
    (frames, FrameError, "is the most", [(LIMIT + 1).to_bytes(4, "big")]),
    (Tell.read, WireError, "is not JSON", [b"", b"{", b'{"key":NaN}']),
    (Tell.read, WireError, "should be an object", [b"[]", b"null"]),
    (Tell.read, WireError, "UTF-8", [b"\xff"]),
    (Tell.read, WireError, "is the most", [b"[" * 2000, b" " * (TELL_LIMITS.bytes + 1)]),
    (Tell.read, WireError, "digits", [b'{"key":' + b"9" * 5000 + b"}"]),
    (Tell.read, WireError, "too large", [b'{"key":"' + SECRET + b'","path":[],"query":1e999}']),
    (Tell.read, WireError, "a field twice", [b'{"key":"a","key":"a"}']),
    (chosen_version, WireError, "speaks version 1", [None, "", "2", "01", " 1", "1.0", "one"]),
]


@pytest.mark.parametrize(("call", "given", "error", "says"), each(ROWS))
def test_wrong_parameters(call: Any, given: Any, error: Any, says: str) -> None:
    with pytest.raises(error, match=says):
        call(given)
