"""What launches would cost if their questions were asked through a person: no data are read.

A frugal person buys by the questions and never by the answers, so it is run with answers of zeros.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from mechanisms.frugal.asking import step_of
from mechanisms.frugal.frugal_queries import Estimate
from mechanisms.frugal.joint_launch import GaussiansTogether
from mechanisms.frugal.spread import Spread
from mechanisms.gaussian import Gaussian
from queryable.errors import QueryError
from queryable.losses import ZCDP
from queryable.messages import Launch, Launched
from queryable.postprocessing import FromAnalyst, FromMechanism, PersonInTheMiddle, ToMechanism
from queryable.randomness.coins import SYSTEM
from queryable.wording.quoting import quoted

_CONFIDENCE = Fraction(95, 100)


def price(person: PersonInTheMiddle[Any], launches: Iterable[Any]) -> ZCDP:
    """What the questions cost through a person, asked in this order, each as accurate at 95%.

    Raises:
        ValueError: a launch is not a `Gaussian` of a statistic that the person estimates.
    """
    state, paid = person.init(), Fraction(0)
    for each in launches:
        message: FromAnalyst | FromMechanism = FromAnalyst(_asked(each))
        while True:
            try:
                state, reply = person.step(state, message, SYSTEM)
            except (QueryError, OverflowError) as error:  # the second of variances beyond floats
                raise ValueError(f"{quoted(each)} has no price: {error}") from None
            if not isinstance(reply, ToMechanism):
                break
            assert isinstance(reply.query, Launch)
            bought = reply.query.mechanism
            assert isinstance(bought, GaussiansTogether)
            paid += bought.loss(1).rho
            zeros = tuple(np.zeros(part.statistic.shape or (), int) for part in bought.parts)
            message = FromMechanism(Launched(None, zeros))
    return ZCDP(paid)


def _asked(launch: Any) -> Estimate:
    if type(launch) is not Gaussian:
        raise ValueError(f"{quoted(launch)} has no price: give launches such as Gaussian(Count())")
    spread = Spread(launch.variance, Fraction(0), 0, Fraction(0), Fraction(1), ())
    within = spread.in_advance(1 - _CONFIDENCE) * step_of(launch.statistic)
    return Estimate(launch.statistic, within, _CONFIDENCE, fixed_in_advance=True)
