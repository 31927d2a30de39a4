"""Write the file of purchases and the public table of cities that all libraries are asked about.

`python data.py FOLDER` writes `purchases.csv` and `cities.csv`. It uses the standard library only,
so that every environment can run it. The same seed gives the same files.
"""

import csv
import sys
from collections import Counter
from datetime import date, timedelta
from pathlib import Path
from random import Random

CATEGORIES = ("books", "clothing", "electronics", "food", "garden", "toys")
CITIES = {
    "Bern": "south",
    "Bonn": "west",
    "Brno": "east",
    "Gent": "west",
    "Graz": "south",
    "Kiel": "north",
    "Linz": "south",
    "Lodz": "east",
    "Lyon": "west",
    "Oslo": "north",
    "Pisa": "south",
    "Turku": "north",
}
REGIONS = ("north", "south", "east", "west")
ITEMS = ("set", "box", "kit", "pack", "gift card", "gift box", "bundle", "single")
HEADER = ("customer_id", "date", "city", "category", "item", "age", "amount")
CUSTOMERS, START = 5_000, date(2024, 1, 1)


def rows(seed: int = 15) -> list[list[str]]:
    """About 50,000 purchases of 5,000 customers: most have a few, a few have hundreds."""
    random = Random(seed)
    weights = [10, 14, 11, 30, 8, 6]
    found = []
    for number in range(CUSTOMERS):
        age, city = random.randint(18, 90), random.choice(list(CITIES)[: random.randint(3, 12)])
        for _ in range(min(300, int(random.paretovariate(1.2) * 3))):
            category = random.choices(CATEGORIES, weights)[0]
            day = START + timedelta(days=int(366 * random.betavariate(1.3, 1)))
            amount = random.lognormvariate(2.6 + age / 150, 0.7)
            found.append(
                [
                    f"c{number:05}",
                    day.isoformat(),
                    city,
                    category,
                    f"{category} {random.choice(ITEMS)}",
                    str(age),
                    f"{amount:.2f}",
                ]
            )
    random.shuffle(found)
    return [spoiled(row, random) for row in found]


def spoiled(row: list[str], random: Random) -> list[str]:
    """Leave most rows as they are; make cells of some missing or malformed."""
    luck = random.random()
    if luck < 0.03:
        row[6] = ""
    elif luck < 0.04:
        row[6] = random.choice(["n/a", "12,50", "unknown"])
    elif luck < 0.045:
        row[6] = random.choice(["-1", "99999"])
    elif luck < 0.055:
        row[5] = random.choice(["", "unknown"])
    elif luck < 0.065:
        row[2] = ""
    elif luck < 0.07:
        row[1] = random.choice(["", "2024-02-30", "yesterday"])
    return row


def write(folder: Path, rows: list[list[str]]) -> None:
    for name, header, lines in (
        ("purchases.csv", HEADER, rows),
        ("cities.csv", ("city", "region"), CITIES.items()),
    ):
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(lines)


def truths(folder: Path, most: int = 20) -> dict[str, int]:
    """What three questions would answer without noise, with `most` rows of each customer."""
    with (folder / "purchases.csv").open(newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    asked = {
        "count": found,
        "pattern": [row for row in found if "gift" in row["item"]],
        "dates": [row for row in found if "2024-04-01" <= row["date"] < "2024-07-01"],
    }
    kept = {
        name: sum(min(most, rows) for rows in Counter(row["customer_id"] for row in which).values())
        for name, which in asked.items()
    }
    buyers = {row["customer_id"] for row in found if row["category"] == "books"}
    return kept | {"people_who": len(buyers)}


if __name__ == "__main__":
    write(Path(sys.argv[1]), rows())
