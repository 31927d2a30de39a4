"""Counters of other libraries: variance at equal rho, and the time of a step.

    PYTHON benchmarks/peers/counters.py opendp|jax_privacy

PYTHON is an environment with opendp or with jax-privacy; `python -m benchmarks.counters` has ours.
Variance is times 2 rho, the largest over all running sums. OpenDP expands a vector of all counts,
so its answers come at once, at the end; its time is divided by the number of steps. rho is what the
library states: OpenDP's map multiplies the L2 sensitivity by the number of levels, not by its root.
"""

import json
import sys
from time import process_time

import numpy as np

STEPS = 1024
RHO = 0.5
RUNS = 400


def opendp():
    import opendp.prelude as dp

    dp.enable_features("contrib")
    for branching in (2, 4, 16):
        space = dp.vector_domain(dp.atom_domain(T=int), STEPS), dp.l2_distance(T=int)
        tree = dp.t.make_b_ary_tree(*space, leaf_count=STEPS, branching_factor=branching)

        def noisy(scale, tree=tree):
            return tree >> dp.m.then_gaussian(scale)

        scale = dp.binary_search_param(noisy, d_in=1, d_out=RHO)
        ours = noisy(scale) >> dp.t.make_consistent_b_ary_tree(branching)
        began = process_time()
        sums = np.cumsum([ours([0] * STEPS) for _ in range(RUNS)], axis=1)
        taken = (process_time() - began) / RUNS / STEPS
        variance = np.mean(sums**2, axis=0) * 2 * RHO
        yield f"OpenDP, tree of {branching}, consistent", float(variance.max()), taken


def jax_privacy():
    import jax
    import jax.numpy as jnp
    import jax_privacy.matrix_factorization.toeplitz as tz

    root = tz.optimal_max_error_strategy_coefs(STEPS)
    error = tz.per_query_error(strategy_coef=root).max() * tz.sensitivity_squared(root)
    matrix = tz.inverse_as_streaming_matrix(root)
    step = jax.jit(matrix.multiply_next)
    key = jax.random.key(1)
    times = []
    for _ in range(3):
        state, total = matrix.init_multiply(jnp.zeros(())), 0.0
        began = process_time()
        for _ in range(STEPS):
            key, own = jax.random.split(key)
            noise, state = step(jax.random.normal(own), state)
            total += float(noise)
        times.append((process_time() - began) / STEPS)
    yield "jax-privacy, square-root Toeplitz, floats", float(error), sorted(times)[1]


def main(peer):
    for name, variance, taken in {"opendp": opendp, "jax_privacy": jax_privacy}[peer]():
        row = {"name": name, "variance": round(variance, 2), "microseconds": round(taken * 1e6, 1)}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
