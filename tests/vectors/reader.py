"""Check the vectors of conversions, rules, laws and receipts in plain Python.

It follows docs/theory, without this project's packages. docs/vectors.md describes the files.
`python reader.py [FOLDER]` names each vector that is wrong.
"""

from collections import Counter
from decimal import Decimal

from accounts import MEASURES, SLACK, coordinates, fits, part, reports, spent, units
from arithmetic import ALMOST, d, encloses, likely, read
from formulas import CONVERSIONS, LAWS, worst_case

STEP = Decimal("1e-100")
FIELDS = MEASURES | {"RDP": ["alpha", "epsilon"]}
"""The fields of a loss in an answer."""


def conversion(vector):
    own = CONVERSIONS[vector["of"]](*map(d, vector["given"].values()))
    return encloses(own, vector, down=vector["rounded"] == "down")


def filtering(vector):
    """Each launch is admitted as often as it fits, and sums and least budgets are as stated."""
    rule, budget, kept = vector["filter"], vector["budget"], []
    for loss, times, admitted in vector["launches"]:
        kept.append((loss, admitted))
        if not fits(rule, budget, kept):
            return False
        if admitted < times and fits(rule, budget, [*kept, (loss, 1)]):
            return False
    if "units" in vector:
        worst = [worst_case(rule, d(budget[1]), vector["units"] + more) for more in (0, 1)]
        used = worst_case(rule, d(budget[1]), units(rule, kept))
        if not worst[0] <= d(rule["slack"]) < worst[1]:
            return False
        if "worst" in vector and not encloses(used, vector["worst"]):
            return False
    least = vector.get("least")
    own = lambda e: fits(rule, [budget[0], e, *budget[2:]], kept)  # noqa: E731
    if least is not None and not encloses(own, least):
        return False
    return "spent" not in vector or spent(rule, budget, kept, vector["spent"])


def reporting(vector):
    odometer, kept, right = vector["odometer"], [], []
    for launch, report in zip(vector["launches"], vector["reports"], strict=True):
        kept.append(launch)
        right.append(encloses(reports(odometer, kept), report))
    total = d(odometer["delta"])
    if "margin" in odometer:
        total += d(odometer["deltas"]) / (1 - (-d(odometer["margin"])).exp())
    return all(right) and encloses(total, vector["delta"])


def fixed(vector):
    """Responses of the declared epsilons, which reveal everything with the declared deltas."""
    law, hidden = {d(0): d(1)}, d(1)
    for loss, times in vector["fixed"]:
        e, hidden = part("epsilon", *loss), hidden * (1 - part("delta", *loss)) ** times
        for _ in range(times):
            grown = Counter()
            for value, mass in law.items():
                for signed in (e, -e):
                    grown[(value + signed).quantize(STEP)] += mass * likely(signed)
            law = grown
    over = lambda e: sum(m * (1 - (e - v).exp()) for v, m in law.items() if v > e)  # noqa: E731
    return encloses(lambda e: 1 - hidden * (1 - over(e)) <= d(vector["delta"]), vector["epsilon"])


def rule(vector):
    check = filtering if "filter" in vector else reporting if "odometer" in vector else fixed
    return check(vector)


def receipts(vector):
    """Each filter of an analysis admits and refuses what fits, and reports the sums."""
    for found in vector["filters"]:
        kept, rule, budget = [], found["rule"], found["budget"]
        for step in vector["steps"]:
            for receipt in step.get("receipts", ()):
                if receipt["at"] == found["at"]:
                    more = [*kept, (receipt["charged"], 1)]
                    if fits(rule, budget, more) != receipt["admitted"]:
                        return False
                    kept = more if receipt["admitted"] else kept
            path, query = [], step["query"]
            while query["@"] == "ask/1":
                path, query = [*path, query["child"]], query["query"]
            if query["@"] == "privacy-loss-query/1" and path == found["at"]:
                loss = [budget[0], *(step["answer"][name] for name in FIELDS[budget[0]])]
                if not spent(rule, budget, kept, [part(n, *loss) for n in coordinates(budget)]):
                    return False
    return True


def law(vector):
    """Each probability is enclosed narrowly, and no tail is understated."""
    chance, right = LAWS[vector["law"]](*vector["given"].values()), []
    for value, *ends in vector["chances"]:
        low, high, own = d(ends[0]), d(ends[-1]), chance(value)
        right += [low <= own * ALMOST, own <= high * ALMOST, high <= low * (1 + SLACK)]
    for size, bound in vector.get("beyond", ()):
        own = 1 - chance(0) - 2 * sum(chance(k) for k in range(1, size + 1))
        right.append(own <= d(bound) <= own * d("1.001"))
    return all(right)


if __name__ == "__main__":
    read({"conversions": conversion, "rules": rule, "laws": law, "analyses": receipts})
