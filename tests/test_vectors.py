"""The conformance vectors are what the code says, and what readers without this code say."""

import ast
import copy
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

from composition import filter_of
from queryable.randomness.intervals import high, low
from tests.vectors import analyses, conversions, draws, generate, laws, losses, rules

FOLDER = Path(generate.__file__).parent
READERS = {"reader.py": ("conversions", "rules", "laws", "analyses"), "streams.py": ("coins",)}
PLAIN = ("accounts", "arithmetic", "formulas", "reader", "samplers", "streams")
"""The modules that know the standard library and each other only."""
NUMBERS = {"analyses": 100, "coins": 40, "conversions": 120, "laws": 70, "rules": 70}


def read(kind: str) -> dict[str, Any]:
    file: dict[str, Any] = json.loads((FOLDER / f"{kind}.json").read_text("utf-8"))
    return file


def vectors(kind: str) -> list[Any]:
    return [pytest.param(each, id=each["id"]) for each in read(kind)["vectors"]]


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run Python without site-packages and without this checkout on its path."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-S", "-B", *arguments]
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


# The files.


@pytest.mark.slow
@pytest.mark.parametrize("kind", generate.KINDS)
def test_the_command_writes_the_files_that_are_here(kind: str) -> None:
    assert (FOLDER / f"{kind}.json").read_text("utf-8") == generate.text(kind)


def test_there_are_400_with_names_of_their_own() -> None:
    assert {kind: len(read(kind)["vectors"]) for kind in generate.KINDS} == NUMBERS
    for kind in generate.KINDS:
        assert len({each["id"] for each in read(kind)["vectors"]}) == NUMBERS[kind]


# What this package answers.


@pytest.mark.parametrize("vector", vectors("conversions"))
def test_conversions_are_stated_as_in_the_vector(vector: dict[str, Any]) -> None:
    given = {name: Fraction(value) for name, value in vector["given"].items()}
    kind = conversions.KINDS[vector["of"]]
    assert conversions.stated(kind, given) == vector["stated"]
    least, most = map(Fraction, vector["exact"])
    ours = kind.ours(**given)
    assert ours >= least if vector["rounded"] == "up" else ours <= most


@pytest.mark.parametrize("vector", vectors("laws"))
def test_laws_have_the_probabilities_of_the_vector(vector: dict[str, Any]) -> None:
    law = laws.law_of(vector["law"], vector["given"])
    found = law.outcomes() or law.truncated(laws.TAIL)[0]  # type: ignore[index]
    for value, *ends in vector["chances"]:
        [chance] = (chance for each, chance in found if each == value and type(each) is type(value))
        assert Fraction(ends[0]) <= low(chance) <= high(chance) <= Fraction(ends[-1])


@pytest.mark.parametrize("vector", vectors("rules"))
def test_rules_admit_and_report_as_in_the_vector(vector: dict[str, Any]) -> None:
    if "filter" in vector:
        name, *_ = given = dict(vector["filter"])
        name = given.pop("rule")
        rule = rules.rule_of(name, given) if name != "filter of" else filter_of(odometer(given))
        limit = losses.loss_of(vector["budget"])
        launches = [(loss, times) for loss, times, _ in vector["launches"]]
        _, counts = rules.launched(rule.open(limit), rule.child_measure(limit), launches)
        assert counts == [admitted for *_, admitted in vector["launches"]]
    elif "odometer" in vector:
        account = odometer(vector).open()
        for (loss, times), report in zip(vector["launches"], vector["reports"], strict=True):
            for _ in range(times):
                account = account.add(losses.loss_of(loss).to(account.odometer.measure))  # type: ignore[arg-type]
            assert rules.outward(account.epsilon, up=True, digits=25) == report["stated"]
    else:
        assert rules.fixed(vector["fixed"], vector["delta"])["epsilon"] == vector["epsilon"]


def odometer(given: dict[str, Any]) -> Any:
    """The odometer of a vector."""
    name, *_ = fields = dict(given["odometer"])
    return rules.odometer_of(fields.pop(name), fields)


@pytest.mark.parametrize("vector", vectors("coins"))
def test_coins_are_those_of_the_vector(vector: dict[str, Any]) -> None:
    path = tuple((child, message) for child, message in vector["path"])
    if "key" in vector:
        coins: Any = draws.sealed(vector["history"])
        for child, message in path:
            coins = coins.spawn(child, message)
    else:
        coins = draws.coins_of(vector["seed"], path)
    if "drawn" in vector:
        assert draws.drawn(coins, vector["law"], vector["given"]) == vector["drawn"]
    assert [[width, coins.bits(width)] for width, _ in vector.get("bits", ())] == vector.get(
        "bits", []
    )
    for size, text in vector.get("bytes", ()):
        assert coins.bytes(size).hex() == text


@pytest.mark.parametrize("vector", vectors("analyses"))
def test_analyses_answer_as_in_the_vector(vector: dict[str, Any]) -> None:
    """Mechanism, data and queries are read from the file; answers, receipts and draws are equal."""
    script = [analyses.read(step["query"]) for step in vector["steps"]]
    mechanism, data = map(analyses.read, (vector["mechanism"], read("analyses")["data"]))
    found = analyses.played(mechanism, data, vector["seed"], script)
    assert json.loads(json.dumps(found)) == {name: vector[name] for name in found}


# What the readers say.


def test_readers_know_the_standard_library_and_each_other_only(tmp_path: Path) -> None:
    for name in PLAIN:
        tree = ast.parse((FOLDER / f"{name}.py").read_text("utf-8"))
        imported = {
            (each.module or "").partition(".")[0]
            for each in ast.walk(tree)
            if isinstance(each, ast.ImportFrom)
        } | {
            alias.name.partition(".")[0]
            for each in ast.walk(tree)
            if isinstance(each, ast.Import)
            for alias in each.names
        }
        assert imported <= {*sys.stdlib_module_names, *PLAIN}
        assert len((FOLDER / f"{name}.py").read_text("utf-8").splitlines()) <= 240
    seen = "import importlib.util as u, sys; sys.exit(u.find_spec('queryable') is not None)"
    assert run("-c", seen, cwd=tmp_path).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
def test_readers_find_nothing_wrong(reader: str, tmp_path: Path) -> None:
    done = run(str(FOLDER / reader), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    counted = re.findall(r"(\w+): (\d+) read, 0 wrong", done.stdout)
    assert dict(counted).items() >= {kind: str(NUMBERS[kind]) for kind in READERS[reader]}.items()


def digits(text: str, chance: Random, most: int = 30) -> str:
    """The text with one of its first significant digits changed."""
    places = [at for at, each in enumerate(text) if each.isdigit()]
    first = next((at for at in places if text[at] != "0"), places[-1])
    mantissa = [at for at in places if at >= first and "e" not in text[:at]]
    at = chance.choice(mantissa[:most])
    return f"{text[:at]}{chance.choice([n for n in '0123456789' if n != text[at]])}{text[at + 1 :]}"


def enclosed(vector: Any) -> Iterator[tuple[list[Any], int]]:
    """The places of enclosures in a vector: a list and an index."""
    for value in vector.values() if isinstance(vector, dict) else vector:
        if isinstance(value, dict | list):
            yield from enclosed(value)
    if isinstance(vector, dict) and "exact" in vector and vector["exact"] != ["0", "0"]:
        yield from ((vector["exact"], at) for at in (0, 1))


def changed_conversion(vector: dict[str, Any], chance: Random) -> None:
    if vector["exact"] == ["0", "0"] or chance.random() < 0.2:
        vector["stated"] = digits(vector["stated"], chance, 6)
    else:
        at = chance.randrange(2)
        vector["exact"][at] = digits(vector["exact"][at], chance)


def changed_law(vector: dict[str, Any], chance: Random) -> None:
    bounds = vector.get("beyond")
    row = chance.choice([*vector["chances"], *(bounds or ())])
    at = chance.randrange(1, len(row))
    row[at] = digits(row[at], chance, 2 if row in (bounds or ()) else 20)


def changed_rule(vector: dict[str, Any], chance: Random) -> bool:
    places = list(enclosed(vector))
    counted = [launch for launch in vector.get("launches", ()) if len(launch) == 3]
    if not counted and not places:
        return False
    if counted and (not places or chance.random() < 0.5):
        launch = chance.choice(counted)
        launch[2] += 1 if launch[2] < launch[1] and chance.random() < 0.5 else -1
        launch[2] %= launch[1] + 1
    else:
        values, at = chance.choice(places)
        values[at] = digits(values[at], chance)
    return True


def changed_coin(vector: dict[str, Any], chance: Random) -> None:
    name = chance.choice([name for name in ("bits", "bytes", "below", "drawn") if name in vector])
    row = vector[name] if name == "drawn" else chance.choice(vector[name])
    at = chance.randrange(len(row)) if name == "drawn" else 1
    row[at] = wrong(row[at], chance)


def wrong(value: Any, chance: Random) -> Any:
    """Another value."""
    match value:
        case bool():
            return not value
        case int():
            return int(digits(str(value), chance, 400)) if value else 1
    return digits(value, chance, 400) if any(map(str.isdigit, value)) else f"0{value[1:]}"


def changed_draw(vector: dict[str, Any], chance: Random) -> bool:
    hidden = [str(each["at"]) for each in vector["draws"] if each["law"] is None]
    described = [each for each in vector["draws"] if str(each["at"]) not in hidden]
    if not described:
        return False
    drawn = chance.choice(described)["drawn"]
    at = chance.randrange(len(drawn))
    drawn[at] = wrong(drawn[at], chance)
    return True


def changed_receipt(vector: dict[str, Any], chance: Random) -> bool:
    places = [each["at"] for each in vector["filters"]]
    found = [each for step in vector["steps"] for each in step.get("receipts", ())]
    found = [each for each in found if each["at"] in places]
    if not found:
        return False
    receipt = chance.choice(found)
    receipt["admitted"] = not receipt["admitted"]
    return True


CHANGES: list[tuple[str, str, Callable[[Any, Random], Any]]] = [
    ("reader.py", "conversions", changed_conversion),
    ("reader.py", "laws", changed_law),
    ("reader.py", "rules", changed_rule),
    ("reader.py", "analyses", changed_receipt),
    ("streams.py", "coins", changed_coin),
    ("streams.py", "analyses", changed_draw),
]


@pytest.mark.slow
@pytest.mark.parametrize(("reader", "kind", "change"), CHANGES)
def test_readers_name_each_vector_that_was_changed(
    reader: str, kind: str, change: Callable[[Any, Random], Any], tmp_path: Path
) -> None:
    """One digit, or one decision, of every vector of a kind is changed; each is noticed."""
    chance = Random(35)
    for each in generate.KINDS:
        (tmp_path / f"{each}.json").write_text((FOLDER / f"{each}.json").read_text("utf-8"))
    file = read(kind)
    changed = []
    for vector in file["vectors"]:
        before = copy.deepcopy(vector)
        if change(vector, chance) is not False:
            assert vector != before
            changed.append(vector["id"])
    assert len(changed) >= 0.8 * NUMBERS[kind]
    (tmp_path / f"{kind}.json").write_text(json.dumps(file))
    done = run(str(FOLDER / reader), str(tmp_path), cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    part = done.stdout.partition(f"{kind}: ")[2].partition(" read, ")[2]
    named = {line.strip() for line in part.splitlines()[1:] if line.startswith("  ")}
    assert sorted(set(changed) - named) == []
