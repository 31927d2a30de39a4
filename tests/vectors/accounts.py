"""Accounts: what launches add up to, and whether a filter admits them, in plain Python."""

from decimal import Decimal

from arithmetic import ALMOST, d
from formulas import FILTERS, ODOMETERS, pure_mu, response, tanh, worst_case

SLACK = Decimal("1e-26")
ABOVE = 10**9  # the units of what is above a menu

MEASURES = {
    "PureDP": ["epsilon"],
    "ApproxDP": ["epsilon", "delta"],
    "ZCDP": ["rho"],
    "ApproxZCDP": ["rho", "delta"],
    "GDP": ["mu"],
    "Dominated": ["epsilon", "mu", "delta"],
}


def part(name, kind, *fields):
    """A coordinate of a loss. "mu" is mu squared; an order stands for the Renyi loss there."""
    if kind in ("RDP", "RenyiCurve"):
        orders, losses = ([fields[0]], [fields[1]]) if kind == "RDP" else fields
        return d(losses[orders.index(name)]) if name in orders else d(0)
    own = dict(zip(MEASURES[kind], map(d, fields), strict=True))
    e, mu = own.get("epsilon", d(0)), own.get("mu", d(0))
    match name:
        case "epsilon" | "delta":
            return own.get(name, d(0))
        case "mu":
            return mu * mu
        case "normal":
            return (pure_mu(e) if e else mu) ** 2
        case "square":
            return e * e
        case "drift":
            return e * (e.exp() - 1) / 2
        case "rho":
            return own.get("rho", e * tanh(e / 2) + mu * mu / 2)
    return response(e, d(name)) if e else part("rho", kind, *fields) * d(name)


def adding(launches):
    """The function that adds up a coordinate of launches, (loss, times) each."""
    return lambda name: d(0) + sum(times * part(name, *loss) for loss, times in launches)


def coordinates(budget):
    orders = budget[1] if budget[0] == "RenyiCurve" else [budget[1]]
    return MEASURES.get(budget[0], orders)


def units(rule, launches):
    """The units of a menu that launches cost."""
    priced = [(0, 0), *zip(rule["menu"], rule["costs"], strict=True), (ABOVE, ABOVE)]

    def cost(e):
        return next(price for u, price in priced if e <= u * d(rule["unit"]) * ALMOST)

    return sum(times * cost(part("epsilon", *loss)) for loss, times in launches)


def fits(rule, budget, launches):
    """Whether a filter admits launches."""
    total, name = adding(launches), rule["rule"]
    if name == "Basic":
        return all(total(each) <= part(each, *budget) * ALMOST for each in coordinates(budget))
    e, delta = d(budget[1]), d(budget[2])
    if name == "filter of":
        return reports(rule["odometer"], launches)(e)
    s = d(rule.get("slack", budget[2]))
    if not s + total("delta") <= delta * ALMOST:
        return False
    if name == "Menu":
        used = units(rule, launches)
        return used < ABOVE and worst_case(rule, e, used) <= s
    return not any(times for _, times in launches) or FILTERS[name](rule, total, e, s)


def reports(odometer, launches):
    """Whether a number reaches what an odometer reports after launches."""
    total, delta, name = adding(launches), d(odometer["delta"]), odometer["name"]
    margin = d(odometer["margin"]) if total("delta") else 0
    if name == "RenyiOdometer":
        of = (lambda a: d(a) * total("rho")) if "margin" in odometer else total
        shares = zip(odometer["orders"], odometer["weights"], strict=True)
        bound = min(of(a) - (d(w) * delta).ln() / (d(a) - 1) for a, w in shares)
    else:
        known = {"target_epsilon", "gamma", "v0", "n", "x"} & odometer.keys()
        bound = ODOMETERS[name](2 * total("rho"), delta, d(odometer[known.pop()]))
    return (lambda e: bound(e - margin)) if callable(bound) else (lambda e: bound + margin <= e)


def spent(rule, budget, launches, stated):
    """Whether these are the sums of an account, rounded up at most."""
    names = {"Whitehouse2023": ["square", "delta"], "ViaGDP": ["normal", "delta"]}
    own = [*map(adding(launches), names.get(rule["rule"], coordinates(budget)))]
    if rule["rule"] == "Menu":
        own[0] = d(units(rule, launches))
    pairs = zip(own, map(d, stated), strict=True)
    return all(one <= other * ALMOST and other <= one * (1 + SLACK) for one, other in pairs)
