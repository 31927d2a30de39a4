"""The formulas of docs/theory that the readers use, in plain Python.

Losses: s is a delta, e an epsilon, a a Renyi order. What has no closed form is a test: whether a
number is large enough (for what is rounded down: small enough).
"""
# fmt: off (one formula a line)

from functools import cache
from math import factorial, prod

from arithmetic import PI, d, least, likely, normal, weights

# Conversions.


def tanh(x):
    return 2 * likely(2 * x) - 1


def gaussian(mu, e):
    return normal(mu / 2 - e / mu) - e.exp() * normal(-mu / 2 - e / mu) if mu else d(0)


def response(e, a):
    return min(e, sum(likely(s) ** a * likely(-s) ** (1 - a) for s in (e, -e)).ln() / (a - 1))


def close(divergence, s):
    return min(divergence / 2, 1 - (-divergence).exp()) <= s * s


def concentrated(rho, s):
    def at(a):
        return rho * a + (1 - 1 / a).ln() - (s * a).ln() / (a - 1)

    return d(0) if close(rho, s) else max(d(0), least(lambda t: at(1 + t.exp()), -15, 30))


def renyi(a, r, s):
    def moment(x, e):
        p, q = (s + x) / (1 + x), x * (1 - s) / (1 + x) * (-e).exp()
        return p**a * q ** (1 - a) + ((1 - s) / (1 + x)) ** a * (1 - q) ** (1 - a)

    goal = ((a - 1) * r).exp()
    return lambda e: close(r, s) or least(lambda t: moment(t.exp(), e), s.ln() - 30, 30) >= goal


CONVERSIONS = {
    "pure to zcdp": lambda e: e * tanh(e / 2),
    "pure to renyi": response,
    "pure to gaussian": lambda e: lambda mu: normal(mu / 2) >= likely(e),
    "response at delta": lambda e, own, s: max(
        d(1), e.exp() - (1 - (1 - s) / (1 - own)) * (1 + e.exp())
    ).ln(),
    "zcdp to approximate": concentrated,
    "approximate zcdp to approximate": lambda rho, own, s: concentrated(rho, s - own),
    "zcdp within approximate": lambda e, s: lambda rho: concentrated(rho, s) <= e,
    "renyi to approximate": renyi,
    "gaussian to delta": gaussian,
    "gaussian to approximate": lambda mu, s: lambda e: gaussian(mu, e) <= s,
    "gaussian within approximate": lambda e, s: lambda mu: gaussian(mu, e) <= s,
    "group of approximate": lambda e, s, k: min(d(1), s * ((k * e).exp() - 1) / (e.exp() - 1)),
    "integer laplace to zcdp": lambda width, b: (
        width / b - (1 - (-width / b).exp()) * 2 / b / ((1 / b).exp() - (-1 / b).exp())
    ),
    "integer gaussian to gaussian": lambda v: lambda mu: 2 * normal(mu / 2) - 1 >= 1 / weights(v),
    "zcdp to renyi": lambda rho, a: rho * a,
    "gaussian to zcdp": lambda mu: mu * mu / 2,
}


def pure_mu(e):
    """The mu of a response, by Newton's iteration."""
    mu = e
    for _ in range(12):
        density = (-mu * mu / 8).exp() / (8 * PI).sqrt()
        mu -= (normal(mu / 2) - likely(e)) / density
    return mu


# Filters: whether the totals t(..) of the launches fit.


def worst_case(rule, e, units):
    step, priced = d(rule["unit"]), list(zip(rule["menu"], rule["costs"], strict=True))

    @cache
    def worst(b, level):
        moves = [(likely(u * step), u, b - cost) for u, cost in priced if cost <= b]
        return max(
            d(0),
            1 - (e - level * step).exp(),
            *(
                p * worst(rest, level + u) + (1 - p) * worst(rest, level - u)
                for p, u, rest in moves
            ),
        )

    return worst(units, 0)


def around(v, x):
    return 2 * (v + x) * (1 + (v / x + 1).ln() / 2)


def mixed(rule, total, e, s):
    shares = zip(rule["orders"], rule["weights"], strict=True)
    terms = [(d(a) - 1, d(w), total(a)) for a, w in shares]

    def mass(x):
        return sum(w * (rate * (x - r)).exp() for rate, w, r in terms)

    return -least(lambda t: ((-t.exp()).exp() - 1) / mass(e + t.exp()), -60, 6) <= s


FILTERS = {
    "Whitehouse2023": lambda _, t, e, s: (-2 * s.ln() * t("square")).sqrt() + t("square") / 2 <= e,
    "Rogers2023": lambda _, t, e, s: t("rho") + 2 * (-s.ln() * t("rho")).sqrt() <= e,
    "ViaZCDP": lambda _, t, e, s: concentrated(t("rho"), s) <= e,
    "ViaGDP": lambda _, t, e, s: gaussian(t("normal").sqrt(), e) <= s,
    "GDPResidue": lambda _, t, e, s: gaussian(t("normal").sqrt(), e) <= s,  # of Gaussian launches
    "Rogers2016": lambda _, t, e, s: (
        t("drift") + (-s.ln() * around(t("square"), -e * e / (d("28.04") * s.ln()))).sqrt() <= e
    ),
    "ViaRenyi": mixed,
}

# Odometers: the bound at V; for the one-sided mixture, whether a number reaches it.


def line(v, s, target):
    y = ((-2 * s.ln() + 2 * target).sqrt() - (-2 * s.ln()).sqrt()) ** 2
    return (-2 * y * s.ln()).sqrt() / 2 + (-2 * s.ln() / y).sqrt() * v / 2 + v / 2


def stitched(v, s, v0):
    w = max(v, v0)
    inner = (2 * w / v0).ln().ln() + d("0.72") * (d("5.2") / s).ln()
    return d("1.7") * (w * inner).sqrt() + v / 2


def one_sided(v, s, gamma):
    def reached(e):
        w, x = v + gamma, e - v / 2
        share = 2 * (gamma / w).sqrt() * normal(x / w.sqrt())
        return x > 0 and share * (x * x / (2 * w)).exp() * s >= 1

    return reached


def rogers(v, s, n):
    if 1 / n**2 <= v <= 1:
        return v / 2 + (2 * v * (1 + d(110).ln() + 2 * (n.ln() / s).ln())).sqrt()
    spread = (1 / n**2 + v) * (1 + (1 + n**2 * v).ln() / 2)
    return v / 2 + (2 * spread * (4 * n.ln() / d(2).ln() / s).ln()).sqrt()


ODOMETERS = {
    "LinearOdometer": line,
    "MixtureOdometer": lambda v, s, x: (
        (2 * (v + x) * (((v + x) / x).sqrt() / s).ln()).sqrt() + v / 2
    ),
    "OneSidedMixtureOdometer": one_sided,
    "StitchedOdometer": stitched,
    "Rogers2016Odometer": rogers,
    "RogersLemma64Odometer": lambda v, s, x: (around(v, x) * (2 / s).ln()).sqrt() + v / 2,
}

# Laws: the probability of a value.


def sinh(x):
    return (x.exp() - (-x).exp()) / 2


def permuted(scores, rate):
    """w_i times the integral over [0, 1] of the product of 1 - x w_j, j other than i."""
    w = [(-d(rate) * (max(scores) - each)).exp() for each in scores]

    def chance(i):
        product = [d(1)]
        for each in w[:i] + w[i + 1 :]:
            moved = [d(0), *(-each * c for c in product)]
            product = [c + more for c, more in zip([*product, d(0)], moved, strict=True)]
        return w[i] * sum(c / (power + 1) for power, c in enumerate(product))

    return chance


def softmax(scores, rate):
    w = [(-d(rate) * (max(scores) - each)).exp() for each in scores]
    return lambda i: w[i] / sum(w)


def poisson(mu):
    return lambda k: (-d(mu)).exp() * d(mu) ** k / factorial(k)


def negative_binomial(eta, gamma):
    eta, gamma = d(eta), d(gamma)
    whole = ((-eta * gamma.ln()).exp() - 1) / eta if eta else -gamma.ln()

    def chance(k):
        return (1 - gamma) ** k / whole * prod((n + eta) / (n + 1) for n in range(1, k))

    return chance


def unchanged(scales):
    halves = [1 / (2 * d(each)) for each in scales]

    def below(i):
        return (sinh(halves[i]) / sinh(halves[-1])) ** 2 if i >= 0 else d(0)

    return lambda i: below(i) - below(i - 1)


LAWS = {
    "bernoulli": lambda p: lambda value: d(p) if value else 1 - d(p),
    "uniform below": lambda bound: lambda _: 1 / d(bound),
    "truthful answer": lambda e: lambda value: likely(d(e) if value else -d(e)),
    "discrete laplace": lambda b: lambda k: (2 * likely(1 / d(b)) - 1) * (-k / d(b)).exp(),
    "discrete gaussian": lambda v: lambda k: (-k * k / (2 * d(v))).exp() / weights(d(v)),
    "softmax": softmax,
    "permute and flip": permuted,
    "poisson": poisson,
    "truncated negative binomial": negative_binomial,
    "coarsest unchanged": unchanged,
}
