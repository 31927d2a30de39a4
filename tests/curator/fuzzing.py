"""Hostile bodies for a curator: mutated messages, random bytes, and bodies that cost much."""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import mechanisms as m
from composition import FiltCon, Individual
from curator.codec import QUERY_LIMITS, encode
from queryable import ZCDP, Ask, CanAfford, Launch, PrivacyLossQuery
from queryable.messages import AskMany, LaunchMany
from tests.encoded_mutations import hostile, mutated, nodes

_LETTERS = b'{}[]",:0123456789eE.-\\u truefalsnk@/'
MOST = QUERY_LIMITS.bytes
COUNT = m.Count(m.column("age") >= 40)
NOISY = Launch(m.Gaussian(COUNT, rho="1/1000000"))
QUERIES = (
    *(
        NOISY,
        Launch(m.SparseVector(300, epsilon="1/10000", cutoff=3)),
        Launch(FiltCon(ZCDP("1/1000"))),
    ),
    *(LaunchMany([NOISY, NOISY]), AskMany([PrivacyLossQuery()]), PrivacyLossQuery()),
    *(CanAfford(NOISY.mechanism), Ask(0, COUNT), Ask(1, Ask(0, NOISY))),
)
_LAPLACE = m.Laplace(COUNT, epsilon="1/1000")
_BINS = m.Keys.bins("age", [0, 20, 40, 60])
PERSON = m.Synthetic([{"sex": ["m", "f"]}, _BINS], rounds=3) @ FiltCon(ZCDP(1000))
LAUNCHES = (
    Launch(
        m.Best(
            [_LAPLACE, m.Laplace(m.Count(), epsilon="1/1000")], "largest", m.Threshold(50, "1/10")
        )
    ),
    Launch(m.Best([_LAPLACE], "smallest", m.Poisson(3))),
    Launch(
        m.Best(
            [m.Scripted(FiltCon(ZCDP("1/1000")), [Launch(m.Gaussian(COUNT, rho="1/9000"))] * 3)],
            "largest",
            m.TruncatedNegativeBinomial(0, "1/10"),
        )
    ),
    Launch(m.PrivateKeys(m.DiscoveredKeys(["sex"]), epsilon="1/1000", delta="1/1000000")),
    Launch(m.Frugal(plan=[COUNT], axes=[_BINS], patience=8) @ FiltCon(ZCDP("1/100"))),
    Launch(m.Synthetic([_BINS], workload=[("age",)], max_cells=1000) @ FiltCon(ZCDP("1/100"))),
    Launch(Individual("1/100")),
)
TO_PERSONS = {
    "[]": LAUNCHES,
    "[0]": (
        m.Estimate(COUNT, 20),
        m.Estimate(m.Histogram("age", [0, 10, 20]), 30, confidence="9/10"),
        m.Estimate(m.GroupBy([_BINS], m.Count()), 30, fixed_in_advance=True),
    ),
    "[1]": (
        *(m.Fit(ZCDP("1/1000"), rounds=1), m.Measurements(), m.SampleRows(5), m.FromModel(COUNT)),
        m.FromModel(m.GroupBy({"sex": ["m", "f"]}, m.Histogram("age", [0, 20, 40]))),
    ),
    "[2]": (
        *(NOISY, Launch(m.Gaussian(m.Histogram("age", [0, 10]), rho="1/1000")), PrivacyLossQuery()),
        CanAfford(NOISY.mechanism),
    ),
}
"""Queries about what answers several times from one budget, by the path of the child."""


def message(query: str, random: Random, path: str = "[]", more: str = "") -> str:
    """The body of a message with a fresh key."""
    key = f"{random.getrandbits(128):032x}"
    return f'{{"key":"{key}",{more}"path":{path},"query":{query},"seen":null}}'


def messages(random: Random) -> list[str]:
    """Right messages of every kind."""
    found = []
    for query in QUERIES:
        text = str(encode(query), "ascii")
        for path in ("[]", "[0]", "[1,0]", '["a"]'):
            more = '"names":["a"],' if isinstance(query, Launch) else ""
            found += [message(text, random, path), message(text, random, path, more)]
    return found


def mutations(count: int, seed: int) -> Iterator[bytes]:
    """Mutated messages, each with a key of its own where it has one still."""
    random = Random(seed)
    texts = messages(random)
    keys = [json.loads(text)["key"].encode() for text in texts]
    for body in hostile(texts, count, seed):
        for key in keys:
            if key in body:
                body = body.replace(key, f"{random.getrandbits(128):032x}".encode())  # noqa: PLW2901
                break
        yield body


def to_persons(count: int, seed: int) -> Iterator[bytes]:
    """Messages to `TO_PERSONS` whose query alone is mutated, so that most of them are read."""
    random = Random(seed)
    texts = [
        (path, str(encode(query), "ascii"))
        for path, queries in TO_PERSONS.items()
        for query in queries
    ]
    corpus = [node for _, text in texts for node in nodes(text)]
    for _ in range(count):
        path, text = random.choice(texts)
        query = mutated(text, json.loads(text), corpus, random).decode(errors="replace")
        yield message(query, random, path).encode(errors="replace")


def random_bodies(count: int, seed: int) -> Iterator[bytes]:
    """Bytes, and texts of JSON's characters."""
    random = Random(seed)
    for _ in range(count):
        if random.random() < 0.5:
            yield random.randbytes(random.randrange(200))
        else:
            yield bytes(random.choices(_LETTERS, k=random.randrange(300)))


def costly() -> dict[str, bytes]:
    """Bodies of the largest size that a careless reader takes long for."""
    random = Random(0)

    def full(part: str, room: int = 300) -> str:
        return part * ((MOST - room) // len(part))

    def tell(query: str, **more: Any) -> str:
        return message(query, random, **more)

    keys = ",".join(f'"{number:x}":0' for number in range(10_000))
    found = {
        "open lists": "[" * MOST,
        "empty lists": full("[]"),
        "empty objects": full("{},"),
        "quotes": '"' * MOST,
        "backslashes": '"' + "\\" * (MOST - 2) + '"',
        "digits": "9" * MOST,
        "numbers": "[" + full("1,") + "1]",
        "exponents": "[" + full("1e9,") + "1]",
        "objects in the query": tell("[" + full("{},") + "{}]"),
        "objects with a field in the query": tell("[" + full('{"@":"count/1"},') + "{}]"),
        "fields in the query": tell("{" + keys + "}"),
        "the same field in the query": tell("{" + full('"a":0,') + '"a":0}'),
        "the same field": "{" + full('"query":null,') + '"query":null,"seen":null}',
        "a long text": tell('"' + full("a") + '"'),
        "escapes": tell('"' + full("\\u1234") + '"'),
        "halves of pairs": tell('"' + full("\\ud800") + '"'),
        "other letters": tell('"' + "é" * (MOST // 2 - 200) + '"'),
        "long numbers": tell("[" + ",".join(["9" * 400] * 280) + "]"),
        "a long number": tell("9" * (MOST - 300)),
        "a large exponent": tell("1e" + "9" * 3000),
        "names": tell("null", more='"names":[' + full("null,") + "null],"),
        "a long path": tell("null", path="[" + full("1,") + "1]"),
        "a long child": tell("null", path='["' + full("a") + '"]'),
        "a deep query": tell('{"@":"ask/1","child":0,"query":' * 390 + "1" + "}" * 390),
        "an unknown tag that is long": tell('{"@":"' + full("a") + '"}'),
    }
    return {name: text.encode() for name, text in found.items()}
