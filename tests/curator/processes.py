"""Processes of the tests, which start quickly: they are forked from one that has imported much."""

import multiprocessing

FORKED = multiprocessing.get_context("forkserver")
FORKED.set_forkserver_preload(["tests.curator.analyst", "tests.curator.lives"])
