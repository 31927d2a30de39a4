"""Write the results of the comparison into `docs/comparison.md`.

python -m benchmarks.peers.table
"""

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "comparison.md"
BEGIN, END = "<!-- results: begin -->\n", "<!-- results: end -->"
LIBRARIES = {
    "ours": "queryable",
    "opendp": "OpenDP 0.16.0",
    "tumult": "Tumult Analytics 0.21.0",
    "diffprivlib": "diffprivlib 0.6.6",
}
QUESTIONS = {
    "count": "How many purchases were there?",
    "known_keys": "How many in each category?",
    "month": "How many in each month?",
    "mean": "What is the mean amount?",
    "median": "What is the median amount?",
    "group_median": "What is the median amount in each category?",
    "variance": "What is the variance of the amounts?",
    "histogram": "How many amounts in 0 to 10, 10 to 20, 20 to 50, ...?",
    "top_k": "Which three cities have the most purchases?",
    "cross_tab": "How many by category and city?",
    "correlation_and_slope": "How do amounts depend on age: correlation and slope?",
    "join": "How many in each region, which a public table has?",
    "people": "How many customers?",
    "people_who": "How many customers bought a book?",
    "pattern": 'How many items have "gift" in their name?',
    "dates": "How many purchases in the second quarter?",
    "nulls": "How many amounts are missing?",
    "sparse_vector": "Which category is the first with 2,900 customers? One price for all",
    "accuracy_first": "How many books, to within 5%, at the least cost?",
    "follow_up": "How many purchases in the category that was largest?",
}


def cell(row: dict[str, Any]) -> str:
    """Lines / tries / seconds / interval, or that there is no way."""
    if "impossible" in row:
        return "no way"
    interval = row["interval"]
    if "held" in row:
        interval += f", held {row['held']} of {row['of']}"
    return f"{row['lines']} / {row['tries']} / {time(row['seconds'])} / {interval}"


def time(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"


def table(results: dict[str, Any]) -> str:
    """The results as Markdown."""
    names = [name for name in LIBRARIES if name in results]
    lines = [
        "| Question | " + " | ".join(LIBRARIES[name] for name in names) + " |",
        "|---|" + "---|" * len(names),
    ]
    for task, question in QUESTIONS.items():
        cells = (cell(results[name]["tasks"][task]) for name in names)
        lines.append(f"| {question} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def with_results(page: str) -> str:
    """The page with the results as they are in `results.json`."""
    results = json.loads((HERE / "results.json").read_text(encoding="utf-8"))
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}{table(results)}{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(with_results(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
