"""Which theorem covers which composition, as one table.

`composition.proofs` looks a composition up here when it is constructed and at every launch; what no
row covers is refused. The table in docs/claims.md is generated from these rows.
"""

from composition.rules import (
    Basic,
    GDPResidue,
    Menu,
    Rogers2016,
    Rogers2023,
    ViaGDP,
    ViaRenyi,
    ViaZCDP,
    Whitehouse2023,
)
from composition.rules.odometers.boundaries import (
    LinearOdometer,
    MixtureOdometer,
    OneSidedMixtureOdometer,
    Rogers2016Odometer,
    RogersLemma64Odometer,
    StitchedOdometer,
)
from composition.rules.odometers.renyi_odometer import RenyiOdometer
from composition.verdicts import (
    CompositionKind,
    Condition,
    Proven,
    Remark,
    Row,
    Unproven,
    Way,
    has_coin,
    keeps_its_claim,
)
from queryable.losses import (
    FDP,
    GDP,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Dominated,
    PureDP,
    RenyiOrder,
    RenyiOrders,
)

COIN = Condition(
    "a coin pays the delta",
    "a child's delta is zero, comes from its (epsilon, delta)-DP, or is the chance of a coin "
    "tossed at its launch, as for every noninteractive mechanism (docs/theory.md, mixed children)",
    has_coin,
    Unproven(
        "whether interactive mechanisms known only to be approximately zCDP with delta > 0 compose "
        "concurrently is open (Haney et al. 2023, section 4)",
        "state the child's zCDP loss, or its (epsilon, delta)-DP, as its own or as "
        "d_out=ApproxDP(...), or launch a noninteractive version, or compose in a FiltSeq",
    ),
)

AGREED = Condition(
    "the claim holds from every history",
    "a part's mechanism that gets batches is pure, or its claim holds from every history on which "
    "the messages agreed (`Growth.from_any_history`), as with additive noise "
    "(docs/theory.md, data that grow)",
    keeps_its_claim,
    Unproven(
        "parallel composition is false for delta > 0 (Henzinger, Safavi, Vadhan 2024) and for zCDP "
        "if the data grow: answers may tell which part to put the differing record into "
        "(docs/theory.md, data that grow)",
        "give the parts pure budgets, such as FiltCon(PureDP(..)), or run one FiltCon over all",
    ),
)

_NOT_OPTIMAL = Unproven(
    "invalid, parameters chosen by answers reach more than the claim (tests/attacks/"
    "test_naive_accounts.py)",
    "rule=Menu(...) or GDPResidue(), or ConComp(..., delta=) with parameters fixed in advance",
)

_NOT_SOME_ORDER = Unproven(
    "invalid, which order fits may depend on answers (tests/attacks/test_naive_accounts.py)",
    "rule=ViaRenyi(orders), whose weights are fixed, or a budget at every order",
)

_NOT_TENSOR = Unproven(
    "invalid in general for curves chosen on the way (Tran et al. 2026; Regehr et al. 2026)",
    "FiltCon(composition.budgets.under_curve(f)), whose budget has no worse curve, or ConComp with "
    "curves fixed in advance",
)

_AS_ADAPTIVE = Remark("a special case of adaptive")
_ALONE = Remark("nothing to compose")
_AS_FIXED = Remark("its parts are fixed; each may be a filter")
_MIXED = "docs/theory.md, mixed children"
_UNIFORM = "docs/theory.md, time-uniform odometers interleave"
_SHARED = "docs/theory.md, time-uniform with (epsilon, delta) children"
_GAUSSIAN = "Haney et al. 2023, Theorem 3.4 with Smith, Thakurta 2022 and Koskela et al. 2022"
_PAIRS = "docs/theory.md, responses and Gaussians add up"
_HSV = Proven("Henzinger, Safavi, Vadhan 2024; docs/theory.md, data that grow")
_WHITEHOUSE_1 = Proven("Whitehouse et al. 2023, Theorem 1")

VALIDITY: tuple[Row, ...] = (
    Row(
        (PureDP,),
        (Basic,),
        Proven("Vadhan, Wang 2021"),
        Proven("Haney et al. 2023, Theorem 1.20 with Rogers et al. 2016, Theorem 3.4"),
        Proven("Rogers et al. 2016, Theorem 3.4"),
        _HSV,
    ),
    Row(
        (ApproxDP,),
        (Basic,),
        Proven("Lyu 2022; Vadhan, Zhang 2023"),
        Proven(f"Haney et al. 2023, Theorem 1.20 with {_MIXED}"),
        Proven(f"{_MIXED}; for delta = 0 Rogers et al. 2016, Theorem 3.4"),
        _HSV,
    ),
    Row(
        (ApproxDP,),
        (Whitehouse2023,),
        Remark("Haney et al. 2023, Theorem 1.8 with Whitehouse et al. 2023, Theorem 2"),
        Proven("Haney et al. 2023, Theorem 1.20 with Whitehouse et al. 2023, Theorem 2"),
        Proven("Whitehouse et al. 2023, Theorem 2"),
    ),
    Row(
        (PureDP,),
        (Rogers2016,),
        _AS_ADAPTIVE,
        Proven("Haney et al. 2023, Theorem 1.20 with Rogers et al. 2016, Theorem 5.1"),
        Proven("Rogers et al. 2016, Theorem 5.1"),
    ),
    Row(
        (ApproxDP,),
        (Menu,),
        _AS_ADAPTIVE,
        Proven("Haney et al. 2023, Theorem 1.20 with docs/theory.md, menu filter"),
        Proven("docs/theory.md, menu filter, after Kairouz, Oh, Viswanath 2017"),
    ),
    Row(
        (Dominated,),
        (GDPResidue,),
        _AS_ADAPTIVE,
        Proven("Haney et al. 2023, Theorem 3.4 with docs/theory.md, GDP residue filter"),
        Proven("Regehr et al. 2026; docs/theory.md, GDP residue filter"),
    ),
    Row(
        (ApproxDP,),
        (Way.OPTIMAL,),
        Proven("Haney et al. 2023, Theorem 1.8"),
        _NOT_OPTIMAL,
        _NOT_OPTIMAL,
        _HSV,
    ),
    Row(
        (ZCDP,),
        (Basic,),
        Proven("Lyu 2022"),
        Proven("Haney et al. 2023, Theorems 4.10 and 4.11"),
        Proven("Feldman, Zrnic 2021"),
    ),
    Row(
        (RenyiOrder,),
        (Basic,),
        Proven("Lyu 2022"),
        Proven("Haney et al. 2023, Theorems 4.6 and 4.9"),
        Proven("Feldman, Zrnic 2021"),
        _HSV,
    ),
    Row(
        (RenyiOrders,),
        (Basic,),
        Proven("Lyu 2022, order by order"),
        Proven("Haney et al. 2023, Theorems 4.6 and 4.9, order by order"),
        Proven("Feldman, Zrnic 2021, order by order"),
    ),
    Row(
        (RenyiOrder, RenyiOrders),
        (ViaRenyi,),
        _AS_ADAPTIVE,
        Proven("docs/theory.md, weighted Renyi filter"),
        Proven("docs/theory.md, weighted Renyi filter"),
    ),
    Row(
        (RenyiOrders,),
        (Way.SOME_ORDER,),
        Remark("Lyu 2022, order by order, and a conversion at the end"),
        _NOT_SOME_ORDER,
        _NOT_SOME_ORDER,
        _NOT_SOME_ORDER,
    ),
    Row(
        (ApproxZCDP,),
        (Basic,),
        Proven(_MIXED, COIN),
        Proven(_MIXED, COIN),
        _WHITEHOUSE_1,
    ),
    Row(
        (ApproxZCDP,),
        (ViaZCDP,),
        _AS_ADAPTIVE,
        Proven(f"{_MIXED}, after Haney et al. 2023, Theorem 4.10", COIN),
        _WHITEHOUSE_1,
    ),
    Row(
        (ApproxZCDP,),
        (Rogers2023,),
        _AS_ADAPTIVE,
        Proven(f"{_MIXED}, and Brownian noise reduction", COIN),
        Proven("Rogers et al. 2023, Theorem 5, corrected in docs/theory.md"),
    ),
    Row(
        (GDP,),
        (Basic, ViaGDP),
        Proven("Vadhan, Zhang 2023"),
        Proven(_GAUSSIAN),
        Proven("Smith, Thakurta 2022; Koskela et al. 2022"),
    ),
    Row(
        (Dominated,),
        (Basic,),
        Proven(f"Vadhan, Zhang 2023 with {_PAIRS}"),
        Proven(f"Haney et al. 2023, Theorem 3.4 with {_PAIRS}"),
        Proven(_PAIRS),
    ),
    Row((FDP,), (Basic,), Proven("Vadhan, Zhang 2023"), _NOT_TENSOR, _NOT_TENSOR, _HSV),
    Row(
        (PureDP, ApproxDP, ZCDP),
        (Way.REALISED,),
        Remark("beside a FiltCon in a ConComp: Rogers et al. 2023, Theorem 2"),
        Proven("docs/theory.md, ex-post accounting interleaves"),
        Remark("Rogers et al. 2023, Lemma B.2"),
    ),
    Row(
        (ZCDP,),
        (LinearOdometer, OneSidedMixtureOdometer, StitchedOdometer),
        _AS_ADAPTIVE,
        Proven(_UNIFORM),
        Proven(f"{_UNIFORM}, after Whitehouse et al. 2023, Theorem 3"),
    ),
    Row(
        (RenyiOrder, RenyiOrders),
        (RenyiOdometer,),
        _AS_ADAPTIVE,
        Proven(_UNIFORM),
        Proven(_UNIFORM),
    ),
    Row(
        (ZCDP,),
        (MixtureOdometer, Rogers2016Odometer, RogersLemma64Odometer),
        _AS_ADAPTIVE,
        Proven(f"{_UNIFORM}: never below the one-sided ones"),
        Proven(
            f"{_UNIFORM}: never below the one-sided ones, after Whitehouse et al. 2023, Theorem "
            "3; Rogers et al. 2016, Lemma 6.4, Theorem 6.5"
        ),
    ),
    Row(
        (ApproxZCDP,),
        (
            LinearOdometer,
            OneSidedMixtureOdometer,
            StitchedOdometer,
            RenyiOdometer,
            MixtureOdometer,
            Rogers2016Odometer,
            RogersLemma64Odometer,
        ),
        _AS_ADAPTIVE,
        Proven(_SHARED, COIN),
        Proven(_SHARED),
    ),
    Row(
        (PureDP, ApproxDP, ZCDP, ApproxZCDP, RenyiOrder, RenyiOrders, GDP, Dominated, FDP),
        (Way.PARTS,),
        Proven("Haney et al. 2023, section 5.2; docs/theory.md, parallel composition"),
        _AS_FIXED,
        _AS_FIXED,
        Proven("docs/theory.md, data that grow", AGREED),
    ),
    Row(
        (PureDP, ApproxDP, ZCDP, RenyiOrder, RenyiOrders, GDP, Dominated, FDP),
        (Way.ONE,),
        _ALONE,
        Proven("Haney et al. 2023, proof of Lemma 4.7: it is a postprocessing of what is launched"),
        _ALONE,
    ),
    Row(
        (ApproxZCDP,),
        (Way.ONE,),
        _ALONE,
        Proven(
            "Haney et al. 2023, proof of Lemma 4.7: it is a postprocessing of what is launched",
            COIN,
        ),
        _ALONE,
    ),
)


def as_markdown() -> str:
    """The table in Markdown, for docs/claims.md, followed by the meaning of its conditions."""
    header = (
        "| Children | Rule | Fixed, interleaved | Adaptive, interleaved | Sequential | "
        "These, and the data grow |\n"
    )
    cells = [row.cell(column) for row in VALIDITY for column in CompositionKind]
    conditions = {cell.where: None for cell in cells if isinstance(cell, Proven) and cell.where}
    notes = "".join(f"\n{condition}.\n" for condition in conditions)
    return header + "|---|---|---|---|---|---|\n" + "".join(f"{row}\n" for row in VALIDITY) + notes
