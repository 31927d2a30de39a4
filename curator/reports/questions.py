"""What a reviewer asks of a system with differential privacy, and the answers, from facts alone.

Responsible for what differs from curator to curator: tables, and some sentences. The other words
are in `texts.toml`. The questions are ours. They cover what the W3C's draft note "Considerations
for Reviewing Differential Privacy Systems (for Non-Differential Privacy Experts)" says that it is
about: privacy, utility, and the number of trusted parties.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import attrs

from curator.reports.past import COMMANDS

Facts = Mapping[str, Any]
Rows = Iterable[tuple[str, ...]]

_NONE = "none"
_EASY = 75
"""So many right guesses of 100 stand out."""


@attrs.frozen
class ReviewQuestion:
    """A question and its answer.

    Attributes:
        id: a short name that does not change.
        topic: "Summary", "Privacy", "Parameters", "Trust", "Utility" or "Checks".
        asked: the question.
        answer: sentences.
        head, rows: a table below them; both empty for none.
        sources: where the answer comes from.
    """

    id: str
    topic: str
    asked: str
    answer: tuple[str, ...]
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    sources: tuple[str, ...]


@cache
def texts() -> Mapping[str, Any]:
    """The words that are the same for every curator."""
    return tomllib.loads(files("curator.reports").joinpath("texts.toml").read_text("utf-8"))


def questions(facts: Facts) -> tuple[ReviewQuestion, ...]:
    """All questions, with their answers."""
    return tuple(
        ReviewQuestion(
            name,
            said["topic"],
            said["asked"],
            (*said["answer"], *_MORE.get(name, _nothing)(facts)),
            tuple(said.get("head", ())),
            tuple(_ROWS.get(name, _nothing)(facts)),
            tuple(said["sources"]),
        )
        for name, said in texts()["questions"].items()
    )


def _nothing(_: Facts) -> tuple[()]:
    return ()


def _sets(facts: Facts) -> Iterable[tuple[str, Facts]]:
    sets: Mapping[str, Facts] = facts["data_sets"]
    return sets.items()


def _of_each(row: Callable[[Facts], tuple[str, ...]]) -> Callable[[Facts], Rows]:
    """A table with a row for each data set."""
    return lambda facts: [(name, *row(said)) for name, said in _sets(facts)]


def _of_each_opened(row: Callable[[Facts], tuple[str, ...]]) -> Callable[[Facts], Rows]:
    """A table with a row for each data set that the ledger has."""
    return lambda facts: [(name, *row(said)) for name, said in _sets(facts) if said["opened"]]


def _loss(said: Facts | None) -> str:
    return "not known" if said is None else str(said["text"])


def _bound(said: Facts) -> str:
    return _loss(said["budget"]) if said.get("budget") else "no bound is fixed in advance"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _unit(said: Facts) -> tuple[str, ...]:
    if "unit" not in said:
        return "one record", "as the mechanisms state", "each record alone"
    return (
        f"one {said['unit']}",
        said["extent"],
        said["unit_column"] or f"each {said['unit']} alone",
    )


def _step(said: Facts) -> tuple[str, ...]:
    unit, d_in = said.get("unit", "record"), said.get("d_in", 1)
    words = {1: f"one {unit} more or less", 2: f"one {unit} replaced by another (two steps)"}
    return (words.get(d_in, f"{d_in} {unit}s more or less"),)


def _columns(said: Facts) -> tuple[str, ...]:
    types = ", ".join(f"{name}: {kind}" for name, kind in said.get("types", {}).items())
    return (said.get("columns") or types or "not recorded",)


def _growth(said: Facts) -> tuple[str, ...]:
    batches = said.get("batches", 0)
    grows = said.get("grows", False) or batches > 0
    return _yes(grows), str(batches), _yes(said.get("closed", False))


def _definition(said: Facts) -> tuple[str, ...]:
    return (
        _bound(said),
        said.get("measure", said.get("mechanism", "not known")),
        said.get("rule") or _NONE,
        "; ".join(map(_loss, said.get("approximate", ()))) or "not converted",
        _yes(said.get("budget_as_configured", True)) if said["configured"] else "not configured",
    )


def _spent(said: Facts) -> tuple[str, ...]:
    numbers = str(said["messages"]), str(said["charges"])
    return _loss(said.get("spent")), _bound(said), *numbers


def _grants(facts: Facts) -> Rows:
    for _, said in _sets(facts):
        for grant in said.get("grants", ()):
            spent = _loss(grant["budget"]), _loss(grant["spent"])
            yield grant["analyst"], grant["title"], *spent, _yes(grant["token"])


def _parts(facts: Facts) -> Rows:
    here = facts["curator"]
    return (
        ("Ledger", here["ledger"]),
        ("Key of the noise", here["key"]),
        ("Anchor against old copies", _yes(here["anchor"])),
        ("Analysts connect by", here["network"]),
        ("TLS", _yes(here["tls"])),
        ("Pages for browsers", _yes(here["pages"])),
        ("Mechanisms of the site's own", ", ".join(here["site_mechanisms"]) or _NONE),
    )


def _times(said: Facts) -> tuple[str, ...]:
    return said.get("tick") or _NONE, said.get("deadline") or _NONE


def _accuracy(said: Facts) -> tuple[str, ...]:
    count = said.get("count")
    if not count:
        return ("not computed for this budget",) * 2
    return tuple(f"±{count[share]}" for share in ("all", "1/100"))


def _verified(said: Facts) -> tuple[str, ...]:
    names = ("events", "charges", "charges_compared", "charges_not_computed", "head")
    return tuple(str(said[name]) for name in names)


def _enforced(_: Facts) -> Rows:
    return [(each["promise"], each["code"], each["test"]) for each in texts()["enforced"]]


def _past(facts: Facts) -> Rows:
    for check in facts["checks"]:
        saw = [f"{root}: {each['event']} of {each['of']}" for root, each in check["saw"].items()]
        saw += ["a head that is not in this ledger"] * (check["strange_heads"] > 0)
        counts = ", ".join(f"{count} {name}" for name, count in check["counts"].items())
        words = check["time"], check["command"], check["result"]
        yield *words, ", ".join(saw) or "not recorded", counts


def _history(facts: Facts) -> Iterable[str]:
    """Which checks were never recorded, and whether the file has other lines."""
    opened = [name for name, said in _sets(facts) if said["opened"]]
    for command in COMMANDS:
        seen = {
            root for each in facts["checks"] if each["command"] == command for root in each["saw"]
        }
        if missing := [name for name in opened if name not in seen]:
            yield f"Never recorded: curator {command} of {', '.join(missing)}."
    if facts["unread_checks"]:
        yield f"Lines of the file that are no records of checks: {facts['unread_checks']}."


def _outstanding(facts: Facts) -> Iterable[str]:
    """What a reviewer should look at first."""
    found = [each for name, said in _sets(facts) for each in _of_data_set(name, said)]
    if not facts["curator"]["anchor"]:
        found.append("There is no anchor: nothing finds that an old copy of the ledger is used.")
    if facts["curator"]["site_mechanisms"]:
        found.append("There are mechanisms of the site's own: whether their claims hold is open.")
    results = {each["command"]: each["result"] for each in facts["checks"]}  # the last of each
    found += [
        f"The last curator {command} that was recorded has not passed."
        for command, result in results.items()
        if result != "passed"
    ]
    if any(each["strange_heads"] for each in facts["checks"]):
        found.append("A check saw a head that is not in this ledger: it was another history.")
    yield from [*found, *_history(facts)] or ["Nothing."]


def _of_data_set(name: str, said: Facts) -> Iterable[str]:
    if not said["configured"]:
        yield f"{name}: it is in the ledger and not in the configuration."
    if not said.get("budget_as_configured", True):
        yield f"{name}: the configuration states another budget than the ledger."
    if not said.get("budget"):
        yield f"{name}: no bound is fixed in advance."
    if said.get("right_in_100", 0) > _EASY:
        yield f"{name}: the budget allows right guesses in {said['right_in_100']} of 100 cases."
    if said.get("charges_not_computed"):
        yield f"{name}: {said['charges_not_computed']} charges are of kinds that are not computed."
    if said["configured"] and not said["tick"]:
        yield f"{name}: there is no tick, so the times of replies are seen."


def _points(section: str) -> Callable[[Facts], Iterable[str]]:
    return lambda _: (f"{name}: {sentence}" for name, sentence in texts()[section].items())


_MORE: Mapping[str, Callable[[Facts], Iterable[str]]] = {
    "first": _outstanding,
    "times": _points("times"),
    "unprotected": _points("left_over"),
    "history": _history,
}
"""Further sentences of an answer."""

_ROWS: Mapping[str, Callable[[Facts], Rows]] = {
    "unit": _of_each(_unit),
    "neighbours": _of_each(_step),
    "public": _of_each(_columns),
    "time": _of_each(_growth),
    "definition": _of_each(_definition),
    "meaning": _of_each(lambda said: (str(said.get("right_in_100", "not known")),)),
    "spent": _of_each_opened(_spent),
    "analysts": _grants,
    "trusted": _parts,
    "times": _of_each(_times),
    "accuracy": _of_each(_accuracy),
    "enforced": _enforced,
    "verified": _of_each_opened(_verified),
    "history": _past,
}
"""Tables of answers."""
