"""A process that holds data and states, with a durable ledger of queries and answers.

- `codec`: every query and answer as canonical JSON, by a closed schema.
"""

__all__: list[str] = []
