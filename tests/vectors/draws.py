"""Vectors of coins: which bits seeded coins are, and what is drawn from them."""

from collections.abc import Iterator
from typing import Any

from mechanisms.sampling.laws import BernoulliExp
from queryable.randomness.coins import SeededCoins
from queryable.randomness.sealed import SealedCoins
from tests.vectors.laws import FIELDS

WIDTHS = (1, 3, 8, 13, 32, 64, 65, 128, 1000, 7, 1)
BOUNDS = (1, 2, 3, 10, 255, 256, 257, 10**6, 2**64, 10**30)
Path = tuple[tuple[int | str, int], ...]
PATHS: tuple[tuple[int, Path], ...] = (
    (0, ()),
    (1, ()),
    (-7, (("root", 0),)),
    (2**70, (("root", 1), (0, 3))),
    (20231129, (("root", 12), ("a name", 0), (5, 2))),
    (3, (("root", 1), ('it\'s "ü"', 1))),
)
DRAWN: tuple[tuple[str, tuple[str, ...]], ...] = (
    *(("bernoulli", (each,)) for each in ("1/2", "1/3", "999/1000", "0", "1")),
    *(("bernoulli exp", (each,)) for each in ("0", "1/2", "1", "7/3", "10")),
    *(("truthful answer", (each,)) for each in ("1/3", "3")),
    *(("uniform below", (each,)) for each in ("6", "1000003")),
    *(("discrete laplace", (each,)) for each in ("1/2", "1", "10", "365/7", "100000")),
    *(("discrete gaussian", (each,)) for each in ("1/4", "1", "9", "1234/5", "1000000")),
)
COUNT = 40

KINDS: dict[str, tuple[tuple[str, ...], Any]] = {
    **FIELDS,
    "bernoulli exp": (("exponent",), BernoulliExp),
}


def coins_of(seed: int, path: Path) -> SeededCoins:
    """The coins at a path: for each child, its id and the number of the message."""
    coins = SeededCoins(seed)
    for child, message in path:
        coins = coins.spawn(child, message)
    return coins


def law_of(name: str, given: dict[str, Any]) -> Any:
    """The law of a vector."""
    value = {field: int(each) if field == "bound" else each for field, each in given.items()}
    return KINDS[name][1](*value.values())


def drawn(coins: SeededCoins, name: str, given: dict[str, Any]) -> list[Any]:
    """Draws, one after the other, and the next 64 bits, which show that as many bits were used."""
    law = law_of(name, given)
    return [*(coins.draw(law) for _ in range(COUNT)), coins.bits(64)]


def sealed(history: list[list[str]]) -> SealedCoins:
    """Sealed coins after messages and answers, given as texts."""
    coins = SealedCoins(bytes(range(32)), "visits", canonical=bytes)
    for kind, text in history:
        step = coins.asked_with if kind == "asked" else coins.answered_with
        coins = step(text.encode())
    return coins


def vectors() -> Iterator[dict[str, Any]]:
    """The vectors of all coins."""
    for number, (seed, path) in enumerate(PATHS, 1):
        where = {"seed": seed, "path": [list(each) for each in path]}
        coins = coins_of(seed, path)
        bits = [[width, coins.bits(width)] for width in WIDTHS]
        yield {"id": f"bits {number}", "of": "bits", **where, "bits": bits}
        coins = coins_of(seed, path)
        strings = [[size, coins.bytes(size).hex()] for size in (1, 16, 100)]
        below = [[bound, coins.below(bound)] for bound in BOUNDS]
        yield {"id": f"bytes {number}", "of": "bytes", **where, "bytes": strings, "below": below}
    for number, (name, values) in enumerate(DRAWN, 1):
        given = dict(zip(KINDS[name][0], values, strict=True))
        path = PATHS[number % len(PATHS)][1]
        yield {
            "id": f"draws {number}",
            "of": "draws",
            "seed": number,
            "path": [list(each) for each in path],
            "law": name,
            "given": given,
            "drawn": drawn(coins_of(number, path), name, given),
        }
    for number in range(1, 5):
        history = [["asked", "first"], ["answered", "7"], ["asked", "second"], ["answered", ""]]
        history = history[:number]
        path = PATHS[number % len(PATHS)][1]
        coins = sealed(history)
        for child, message in path:
            coins = coins.spawn(child, message)
        yield {
            "id": f"sealed {number}",
            "of": "sealed",
            "key": bytes(range(32)).hex(),
            "root": "visits",
            "history": history,
            "path": [list(each) for each in path],
            "bits": [[64, coins.bits(64)], [200, coins.bits(200)]],
            "bytes": [[16, coins.bytes(16).hex()]],
        }
