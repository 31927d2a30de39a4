"""Budgets as a configuration states them: a measure, and perhaps a rule, by name.

Responsible for reading `{ zcdp = "1/10" }` or `{ epsilon = 1, delta = "1e-6", rule = "via-zcdp" }`
into a filter. What a number means and which combination is proven, the losses and the filter say.
"""

from collections.abc import Callable, Mapping
from typing import Any

import attrs

import composition as c
from curator.settings.sections import Section, mapping, natural_number, text
from queryable.losses import GDP, RDP, ZCDP, ApproxDP, ApproxZCDP, Dominated, Loss, PureDP
from queryable.losses.numbers import exact
from queryable.losses.renyi import RenyiCurve
from queryable.wording.quoting import quoted

RULES: Mapping[str, type[c.Rule]] = {
    "basic": c.Basic,
    "gdp-residue": c.GDPResidue,
    "menu": c.Menu,
    "rogers-2016": c.Rogers2016,
    "rogers-2023": c.Rogers2023,
    "via-gdp": c.ViaGDP,
    "via-renyi": c.ViaRenyi,
    "via-zcdp": c.ViaZCDP,
    "whitehouse-2023": c.Whitehouse2023,
}
"""The rules of `composition`, by their names in a configuration."""

_MEASURES = ("epsilon", "zcdp", "gdp", "renyi", "dominated")
_EXAMPLE = 'such as { zcdp = "1/10" } or { epsilon = 1, delta = "1e-6" }'


def filter_of(stated: Section, d_in: int) -> c.FiltCon:
    """The filter of a budget.

    Args:
        stated: the table `budget`.
        d_in: how many records, or privacy units, the budget is stated for.

    Raises:
        ConfigurationError: it is no budget, or its rule does not take it.
    """
    given = stated.read(
        {
            **dict.fromkeys((*_MEASURES, "delta", "launch_share"), _anything),
            "rule": _anything,
            "max_mechanisms": natural_number,
            "on_exceed": text,
        }
    )
    measures = [name for name in _MEASURES if name in given]
    if len(measures) != 1:
        found = " and ".join(measures) or "none"
        raise stated.wrong(
            f"give one of the measures {', '.join(_MEASURES)}, {_EXAMPLE}; there is {found}"
        )
    measure, delta = measures[0], given.get("delta")
    rule, share = given.pop("rule", None), given.pop("launch_share", None)
    limits = {name: given[name] for name in ("max_mechanisms", "on_exceed") if name in given}
    if share is not None and (measure != "epsilon" or delta is None or rule is not None):
        raise stated.wrong("leave launch_share out: it is for epsilon with delta, without a rule")
    if delta is not None and measure not in {"epsilon", "zcdp"}:
        raise stated.wrong(f"leave delta out: {measure} has none")
    with stated.checked():
        if measure == "epsilon" and delta is not None and rule is None:
            shares = {} if share is None else {"launch_share": share}
            return attrs.evolve(c.budget(given[measure], delta, d_in=d_in, **shares), **limits)
        loss = _loss(stated, measure, given[measure], delta)
        return c.FiltCon(loss, _rule(stated, rule), d_in=d_in, **limits)


def _loss(stated: Section, measure: str, value: Any, delta: Any) -> Loss:
    match measure:
        case "epsilon":
            return PureDP(value) if delta is None else ApproxDP(value, delta)
        case "zcdp":
            return ZCDP(value) if delta is None else ApproxZCDP(value, delta)
        case "gdp":
            return GDP(value)
        case "renyi":
            orders = sorted((exact(order, "order"), each) for order, each in mapping(value).items())
            if len(orders) == 1:
                return RDP(*orders[0])
            return RenyiCurve([order for order, _ in orders], [each for _, each in orders])
        case _:
            names = ("epsilon", "mu", "delta")
            return Dominated(**stated.inner("dominated").read(dict.fromkeys(names, exact), names))


def _rule(stated: Section, rule: Any) -> c.Rule:
    """The rule of a name, or of a table with its name and its parameters."""
    parameters: dict[str, Any] = {}
    if isinstance(rule, dict):
        given = stated.inner("rule")
        named = given.read({"name": text, **dict.fromkeys(_PARAMETERS, _anything)}, ("name",))
        rule, parameters = named.pop("name"), named
    if rule is None:
        return c.Basic()
    if rule not in RULES:
        raise stated.inner_wrong("rule", f"there is no rule {quoted(rule)}", RULES)
    kind: Callable[..., c.Rule] = RULES[rule]
    return kind(**parameters)


_PARAMETERS = ("slack", "unit", "menu", "costs", "orders", "weights")


def _anything(value: Any) -> Any:
    return value
