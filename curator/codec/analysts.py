"""What an analyst may send: an allow-list of tags, for whatever comes from outside the curator.

Responsible for which tags a curator reads in a message. Everything else that has a tag is made by
code of the packages: answers, accounts, receipts, and the mechanisms and statistics that persons
such as `Frugal` launch in the curator. An analyst who could write those would choose what their
makers compute. Logs hold them, and clients read them in answers, with the whole codec.

A new tag is named in `ANALYST_TAGS` or in `OWN_TAGS`; those of rules and accounts come from the
lists of `composition.written`. What a site declares is the site's choice: all its tags are read,
and they have a dot in the name.
"""

from composition import written
from curator.codec.codec import Codec
from curator.codec.entries import default_tag
from curator.codec.limits import Limits


def _tags(*rows: str) -> frozenset[str]:
    return frozenset(" ".join(rows).split())


ANALYST_TAGS = _tags(
    # numbers, dates, lists
    "array/1 bytes/1 date/1 datetime/1 decimal/1 dict/1 float/1 fraction/1 int/1 list/1 measure/1 "
    "numpy/1 range/1 timedelta/1",
    # losses and measures
    "approx-dp/1 approx-zcdp/1 dominated/1 fdp/1 gdp/1 pure-dp/1 rdp/1 renyi-curve/1 renyi-order/1 "
    "renyi-orders/1 zcdp/1",
    # queries
    "ask/1 ask-many/1 block-loss-query/1 blocks-query/1 can-afford/1 launch/1 last/1 launch-many/1 "
    "launch-over/1 measure-query/1 privacy-loss-query/1 remaining-query/1 "
    "absolute-error/1 estimate/1 fit/1 from-model/1 latest/1 linear-query/1 measurements/1 "
    "open/1 refine/1 relative-error/1 sample-rows/1 synthetic-histogram/1 total/1 try/1 until/1 "
    "window/1",
    # mechanisms and persons, with the laws and levels that they are given
    "best/1 brownian-noise-reduction/1 doubling/1 exponential-mechanism/1 first-good/1 frugal/1 "
    "gaussian/1 gaussian-noise-reduction/1 "
    "laplace/1 laplace-noise-reduction/1 permute-and-flip/1 private-keys/1 "
    "private-multiplicative-weights/1 private-quantiles/1 private-top/1 release/1 scripted/1 "
    "sparse-vector/1 synthetic/1 toeplitz-counter/1 top-k/1 tree-counter/1 "
    "discrete-gaussian/1 discrete-laplace/1 poisson/1 threshold/1 truncated-negative-binomial/1 "
    "event-level/1 neighbours/1 user-level/1",
    # statistics, and keys of groups
    "correlation/1 count/1 count-units/1 covariance/1 discovered-keys/1 group-by/1 histogram/1 "
    "mean/1 privacy-unit/1 quantile/1 quantiles/1 ranges/1 regression/1 std/1 sum/1 "
    "top/1 unit-sizes/1 variance/1 "
    "bins/1 categories/1 combinations/1 keys/1",
    # expressions and predicates
    "and/1 arithmetic/1 cast/1 column/1 compared/1 comparison/1 date-part/1 is-in/1 is-null/1 "
    "literal/1 matches/1 not/1 or/1 per-unit/1 text-function/1 truncated/1 when/1",
    # compositors and policies
    "at-most-a-day/1 blocks/1 con-comp/1 ex-post/1 filt/1 filt-con/1 filt-seq/1 individual/1 "
    "odom/1 odom-con/1 odom-seq/1 parallel/1 partition/1 postprocessed/1 universal/1",
).union(map(default_tag, written.RULES))
"""The tags that an analyst's message may have, at any depth."""

OWN_TAGS = _tags(
    # answers, and what they hold
    "above/1 axis/1 best-run/1 bin/1 block-level/1 block-stated/1 chosen/1 "
    "combination/1 data-level/1 direct/1 enclosed/1 estimated/1 exchange/1 failed/1 "
    "halted/1 lattice/1 launched/1 margin/1 mean-tails/1 measured/1 model-fit/1 modelled/1 "
    "noise/1 noisy/1 noisy-array/1 noisy-int/1 passed-over/1 quotient/1 reach/1 refined/1 "
    "refused/1 release-tails/1 released/1 released-keys/1 released-ranges/1 released-sizes/1 "
    "revealed/1 selected/1 share/1 shown/1 spanned/1 spreads/1 stated/1 stopped/1 "
    "synthetic-rows/1 undecided/1 view/1",
    # laws of noise that no mechanism is given
    "bernoulli/1 bernoulli-exp/1 gaussian-sum/1 laplace-sum/1 toeplitz-noise/1 truthful-answer/1 "
    "uniform-below/1",
    # reports, recommendations
    "candidate/1 ex-post-bound/1 fitted/1 recommendation/1 time-uniform-bound/1",
    # receipts
    "ask-receipt/1 receipt/1",
    # messages of persons, and what persons launch and ask in the curator
    "from-analyst/1 from-mechanism/1 to-analyst/1 to-mechanism/1 "
    "combined/1 compared-marginal/1 distances/1 gaussians-together/1 marginal/1 weighted/1",
    # what the owner's commands launch
    "lost/1",
).union(map(default_tag, written.ACCOUNTS))
"""The tags of what only code of the packages makes."""


def is_analysts(tag: str) -> bool:
    """Whether an analyst may send values with this tag: it is on the list, or a site's."""
    return tag in ANALYST_TAGS or "." in tag.partition("/")[0]


def for_analysts(codec: Codec, limits: Limits) -> Codec:
    """The codec for messages: it has the entries that an analyst may send, and no other."""
    return codec.only(is_analysts).within(limits)
