"""Everyday questions about data that no page uses, each in at most two lines of the recipes.

    python -m benchmarks.tasks [--runs 20]

prints each question, its lines, the answer, the exact value, and how often the interval held. It
needs the extra `tasks`.
"""
