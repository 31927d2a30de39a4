"""Ask all tasks, and print a table; see `benchmarks.tasks`."""

import argparse
from textwrap import indent
from typing import Any

import composition
import mechanisms
import queryable
from benchmarks.tasks import flights, health
from benchmarks.tasks.task import run
from composition.advice import plan
from queryable import SeededCoins


def names(start: str, frame: Any, seed: int) -> dict[str, Any]:
    """What an analyst has: the public names, the table, and a queryable over it."""
    public: dict[str, Any] = {}
    for package in (queryable, mechanisms, composition):
        public |= {name: getattr(package, name) for name in package.__all__}
    public |= {"frame": frame, "plan": plan}

    def seeded(mechanism: Any, dataset: Any, **options: Any) -> Any:
        return queryable.Queryable(
            mechanism, dataset, coins=SeededCoins(seed), allow_seeded=True, **options
        )

    public["Queryable"] = seeded
    exec(start, public)
    return public


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1)
    runs = parser.parse_args().runs
    for module in (health, flights):
        frame = module.frame()
        held = {task.question: 0 for task in module.TASKS}
        for seed in range(runs):
            for task, answer, exact, right in run(
                module.TASKS, names(module.START, frame, seed), frame
            ):
                held[task.question] += right
                if not seed:
                    print(f"\n{task.question}\n\n{indent(task.lines, '    ')}\n\n{answer}")
                    print(f"exact: {exact}")
        print()
        for question, each in held.items():
            print(f"{each} of {runs}: {question}")


if __name__ == "__main__":
    main()
