"""Check the vectors of coins, and the draws and numbers of analyses, in plain Python.

docs/vectors.md describes the files. `python streams.py [FOLDER]` names each vector that is wrong.
"""

from fractions import Fraction

from arithmetic import read
from samplers import SAMPLERS, sealed, seeded

WHOLE = ("filt-con/1", "filt-seq/1", "odom-con/1")
"""Roots whose launches read all of the data."""


def draw(vector, coins):
    [parameter] = vector["given"].values()
    return SAMPLERS[vector["law"]](Fraction(parameter), coins)


def coin(vector):
    coins = sealed(vector) if "key" in vector else seeded(vector["seed"], vector["path"])
    *drawn, after = vector.get("drawn", [None])
    right = [draw(vector, coins) == each for each in drawn]
    right += [coins.bits(width) == bits for width, bits in vector.get("bits", ())]
    right += [coins.below(bound) == each for bound, each in vector.get("below", ())]
    right += [coins.bytes(size).hex() == text for size, text in vector.get("bytes", ())]
    return all(right) and after in (None, coins.bits(64))


def counted(statistic, data):
    """The numbers of a count, a histogram or a sum; None for another statistic."""
    match statistic:
        case {"@": "count/1", "where": {"column": name, "operator": ">=", "value": least}}:
            return [sum(cell >= least for cell in data[name])]
        case {"@": "count/1"}:
            return [len(data["age"])]
        case {"@": "histogram/1", "column": name, "categories": values}:
            return [data[name].count(each) for each in values]
        case {"@": "sum/1", "column": name, "lower": low, "upper": high}:
            return [sum(min(max(cell, int(low)), int(high)) for cell in data[name])]


def answers(vector):
    """Each draw comes from its coins, and a launch of noise on a number answers their sum."""
    streams = {}
    for found in vector["draws"]:
        place = str(found["at"])
        coins = streams.setdefault(place, seeded(vector["seed"], found["at"]))
        if found["law"] is None:  # what follows in this stream is not described
            streams[place] = None
        elif coins and [draw(found, coins) for _ in found["drawn"]] != found["drawn"]:
            return False
    data = {name: cells["items"] for name, cells in vector["data"]["items"]}
    for number, step in enumerate(vector["steps"], 1):
        query, answer = step["query"], step["answer"]
        while query["@"] == "ask/1":
            query = query["query"]
        mechanism = query.get("mechanism", {"@": ""})
        noisy = mechanism["@"] in ("laplace/1", "gaussian/1")
        if noisy and answer["@"] == "launched/1" and vector["mechanism"]["@"] in WHOLE:
            value = answer.get("answer") or {}
            numbers = value.get("values", {}).get("items") or [value.get("value")]
            noise = [each["drawn"] for each in vector["draws"] if each["at"][0][1] == number]
            own = counted(mechanism["statistic"], data)
            if own and numbers != [one + more for one, more in zip(own, *noise, strict=True)]:
                return False
    return True


if __name__ == "__main__":
    read({"coins": coin, "analyses": answers})
