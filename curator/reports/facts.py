"""What is known of a curator: its configuration, and what its ledger holds, as values of JSON.

Responsible for facts that are public, or that are in the ledger already: no row, no number of rows,
no answer and no text of a failure. Opens no data and no key. Losses stand as texts: rounded for
people, and exact.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

import attrs

from curator.access import ROOT as ACCESS
from curator.access import Access, access_of
from curator.codec import Codec
from curator.ledgers import Event, LedgerError, ledger_of
from curator.reports.past import NAME, past_checks
from curator.reports.snapshot import LedgerSnapshot
from curator.settings.configuration import Configuration
from curator.settings.datasets import Dataset
from curator.verify import verify
from curator.views import view
from mechanisms import Count, Gaussian, Laplace
from mechanisms.tables.requests.wording import protected_unit
from queryable.checks.protection import ROW
from queryable.checks.scales import accuracy
from queryable.display.odds import in_100
from queryable.errors import InteractiveError
from queryable.losses import GDP, ZCDP, ApproxDP, Loss, PureDP, measure_name
from queryable.mechanism import InteractiveMechanism

Json = dict[str, Any]

_DELTAS = (Fraction(1, 10**6), Fraction(1, 10**9))


def gathered(stated: Configuration, snapshot: LedgerSnapshot) -> Json:
    """All facts, of a configuration and of the events of its ledger.

    Raises:
        LedgerError: the ledger contradicts itself.
    """
    access = access_of(snapshot.read(ACCESS))
    names = sorted({*stated.datasets, *snapshot.roots()} - {ACCESS})
    checks, unread = past_checks(checks_of(stated))
    return {
        "curator": _curator(stated),
        "analysts": [
            {"name": each.name, "token": each.token is not None, "grants": len(each.grants)}
            for each in access
        ],
        "data_sets": {name: _dataset(stated, snapshot, access, name) for name in names},
        "checks": [_aged(attrs.asdict(each), snapshot) for each in checks],
        "unread_checks": unread,
        "owner": dict(stated.report),
    }


def snapshot_of(stated: Configuration) -> LedgerSnapshot:
    """The events of the ledger of a configuration, as they are now."""
    ledger = ledger_of(stated.ledger, make=False)
    try:
        return LedgerSnapshot.of(ledger)
    finally:
        ledger.close()


def checks_of(stated: Configuration) -> Path:
    """The file in which checks are recorded."""
    beside = stated.file.absolute() if "://" in stated.ledger else Path(stated.ledger)
    return beside.parent / NAME


def _curator(stated: Configuration) -> Json:
    local = stated.listen.startswith("unix:")
    return {
        "ledger": "a database" if "://" in stated.ledger else "a file",
        "key": "an environment variable" if stated.key.startswith("env:") else "a file",
        "anchor": stated.anchor is not None,
        "network": "a socket file of this machine" if local else "TCP",
        "tls": stated.tls is not None,
        "pages": stated.page is not None,
        "site_mechanisms": list(stated.mechanisms),
    }


def _dataset(stated: Configuration, snapshot: LedgerSnapshot, access: Access, name: str) -> Json:
    there = stated.datasets.get(name)
    found: Json = {"configured": there is not None, "opened": name in snapshot.events}
    if there is not None:
        found |= _stated(there)
    if name in snapshot.events:
        found |= _recorded(snapshot, name, stated.codec, access)
        if there is not None:
            opened = json.loads(json.loads(snapshot.events[name][0].body)["mechanism"])
            same = json.loads(stated.codec.encode(there.budget)) == opened
            found["budget_as_configured"] = same
    return found


def _stated(there: Dataset) -> Json:
    """What a configuration says of a data set. Its address may have a password."""
    unit = there.unit
    whom = ROW if unit is None else protected_unit(unit)
    return {
        "source": "files" if there.table is None else "a table of a database",
        "unit": whom.unit,
        "extent": whom.extent,
        "unit_column": whom.whose,
        "columns": ", ".join(there.options.get("columns", ())),
        "types": dict(there.options.get("types", {})),
        "grows": there.batches is not None,
        "tick": _seconds(there.tick),
        "deadline": _seconds(there.deadline),
        "steps": there.steps,
        "growth": there.growth,
        **_budget(there.budget),
        "count": _half_widths(there),
    }


def _seconds(value: Fraction | None) -> str | None:
    return None if value is None else f"{float(value):g}"


def _recorded(snapshot: LedgerSnapshot, name: str, codec: Codec, access: Access) -> Json:
    """What the ledger holds of a data set."""
    events = snapshot.events[name]
    checked = verify(events, codec=codec)
    opened = json.loads(events[0].body)
    found: Json = {
        "events": checked.events,
        "head": checked.head,
        "messages": checked.messages,
        "charges": checked.charges,
        "charges_compared": checked.claims,
        "refusals_compared": checked.refusals,
        "charges_not_computed": sum(checked.unchecked.values()),
        "batches": checked.batches.batches,
        "closed": checked.closed,
        "launched": _launched(events, codec),
        **_budget(codec.decode(opened["mechanism"])),
    }
    if "protects" in opened:
        unit, extent, whose = opened["protects"]
        found |= {"unit": unit, "extent": extent, "unit_column": whose}
    if columns := str(opened["fingerprint"].get("columns", "")):
        found["columns"] = columns
    try:
        seen = view(snapshot, name, codec=codec)
    except LedgerError as error:
        if len(events) > 1:
            raise
        return found | {"opening": str(error), "grants": []}
    grants = [
        {
            "analyst": analyst.name,
            "title": grant.title,
            "token": analyst.token is not None,
            **_budget(codec.decode(grant.mechanism)),
            "spent": _loss(lambda child=grant.child: seen.children[child].privacy_loss()),
        }
        for analyst in access
        for grant in analyst.on(name)
    ]
    return found | {"spent": _loss(seen.privacy_loss), "grants": grants}


def _loss(of: Any) -> Json | None:
    """A loss that is asked for; None if it cannot be told, as of a child that is retired."""
    try:
        found = of()
    except (InteractiveError, KeyError):
        return None
    return _as_json(found)


def _as_json(loss: Any) -> Json:
    return {"text": str(loss), "exact": repr(loss)}


def _budget(mechanism: InteractiveMechanism[Any]) -> Json:
    """The budget of a filter, or what another mechanism claims, its rule, and what it means.

    The budget is None where no bound is fixed in advance, as of an odometer.
    """
    d_in, rule = int(getattr(mechanism, "d_in", 1)), getattr(mechanism, "rule", None)
    found = {
        "mechanism": type(mechanism).__name__,
        "rule": "" if rule is None else type(rule).__name__,
        "d_in": d_in,
        "budget": None,
    }
    try:
        loss = mechanism.privacy_map(d_in)
    except (InteractiveError, ValueError, TypeError, ArithmeticError):
        return found
    return found | {
        "measure": measure_name(loss.measure),
        "budget": _as_json(loss),
        "parameters": _parameters(loss),
        "approximate": _approximate(loss),
        "right_in_100": in_100(loss),
    }


def _parameters(loss: Any) -> dict[str, str]:
    """The parameters of a loss that are numbers, exact, by name."""
    given = ((each.name, getattr(loss, each.name)) for each in attrs.fields(type(loss)))
    return {name: str(value) for name, value in given if isinstance(value, Fraction)}


def _approximate(loss: Loss) -> list[Json]:
    """The loss as epsilon and delta, rounded up: at some deltas, if a theorem converts it."""
    found = []
    for each in _converted(loss):
        epsilon, delta = _above(each.epsilon), _above(each.delta)
        text = f"epsilon at most {epsilon}, delta {delta}"
        found.append({"text": text, "epsilon": epsilon, "delta": delta})
    return found


def _converted(loss: Loss) -> Iterator[ApproxDP]:
    match loss:
        case ApproxDP():
            yield loss
        case PureDP(epsilon):
            yield ApproxDP(epsilon, 0)
        case _:
            own = getattr(loss, "delta", None)
            for delta in (2 * own,) if isinstance(own, Fraction) and own else _DELTAS:
                with suppress(ValueError, ArithmeticError):
                    found = loss.to(ApproxDP, delta)
                    assert isinstance(found, ApproxDP)
                    yield found


def _above(value: Fraction) -> str:
    """A short decimal at or above a value."""
    context = Context(prec=4, rounding=ROUND_CEILING)
    above = context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize()
    return f"{above:f}" if not above or -5 < above.adjusted() < 9 else f"{above:e}"


def _half_widths(there: Dataset) -> Json | None:
    """How far one count of rows may be off, in 95 of 100 cases, for shares of the budget."""
    found = {}
    for share in (1, 100):
        noisy = _count_at(there, Fraction(1, share))
        if noisy is None:
            return None
        found["all" if share == 1 else f"1/{share}"] = ceil(accuracy(noisy))
    return found


def _count_at(there: Dataset, share: Fraction) -> Any:
    count, units = Count(per=there.unit), there.budget.d_in
    match there.budget.budget:
        case PureDP(epsilon) | ApproxDP(epsilon) if epsilon:
            return Laplace(count, epsilon=epsilon * share / units)
        case ZCDP(rho) if rho:
            return Gaussian(count, rho=rho * share / units**2)
        case GDP(mu) if mu:
            return Gaussian(count, rho=mu**2 / 2 * share / units**2)
    return None


def _launched(events: Sequence[Event], codec: Codec) -> dict[str, int]:
    """How often a mechanism of each kind was sent to be launched, by its tag."""
    counts: Counter[str] = Counter()
    for event in events:
        query = json.loads(event.body).get("query")
        if event.kind in {"intent", "exchange"} and query is not None:
            counts.update(_tags(json.loads(query), codec))
    return dict(sorted(counts.items()))


def _tags(value: Any, codec: Codec) -> list[str]:
    """The tags of the mechanisms in a query."""
    found, rest = [], [value]
    while rest:
        each = rest.pop()
        if isinstance(each, Mapping):
            tag = each.get("@", "")
            classes = codec.classes_of(tag) if isinstance(tag, str) else ()
            found += [tag] * any(issubclass(kind, InteractiveMechanism) for kind in classes)
            rest += each.values()
        elif isinstance(each, list):
            rest += each
    return found


def _aged(check: Json, snapshot: LedgerSnapshot) -> Json:
    """A check, with the events that it saw, as far as they are in the ledger."""
    seen = [snapshot.number_of(head) for head in check["heads"]]
    check["counts"] = dict(check["counts"])
    check["saw"] = {
        root: {"event": number, "of": len(snapshot.events[root])}
        for root, number in (each for each in seen if each is not None)
    }
    check["strange_heads"] = seen.count(None)
    check.pop("heads")
    return check
