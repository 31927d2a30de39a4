"""Renyi curves of private selection by dp-accounting, for `tests/unit/mechanisms/test_best.py`.

    build/peers/dp_accounting/bin/python benchmarks/peers/selection_dp_accounting.py

It prints one line for each event: the base and its scale, the shape (eta; inf for Poisson), the
mean number of runs, and the epsilon at each of `SHOWN`. The accountant gets all `ORDERS`, because
it looks for its second order among them. They are `HELPERS` of `mechanisms.selection`; without 6 it
gives up to 0.1% more for (gaussian, 2, 1, 100), whose best second order is 6.07.
"""

import math

from dp_accounting import dp_event, rdp

SHOWN = (2, 8, 32, 128)
CLAIMED = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256, 512, 1024, 2048, 4096)
ORDERS = sorted({1 + round(16 * 2 ** (step / 4)) / 64 for step in range(57)} | {*CLAIMED})
SHAPES = (
    (-0.5, 5),
    (0, 10),
    (0.5, 10),
    (1, 10),
    (1, 100),
    (2.5, 10),
    (math.inf, 1),
    (math.inf, 10),
)
BASES = {
    "gaussian": (dp_event.GaussianDpEvent, (2.0, 10.0)),
    "laplace": (dp_event.LaplaceDpEvent, (10.0,)),
}


def main() -> None:
    for name, (event, scales) in BASES.items():
        for scale in scales:
            for shape, mean in SHAPES:
                accountant = rdp.RdpAccountant(ORDERS)
                try:
                    accountant.compose(dp_event.RepeatAndSelectDpEvent(event(scale), mean, shape))
                except ValueError as error:
                    print(name, scale, shape, mean, "refused:", error)
                    continue
                found = [float(accountant.rdp[ORDERS.index(order)]) for order in SHOWN]
                print(name, scale, shape, mean, found)


if __name__ == "__main__":
    main()
