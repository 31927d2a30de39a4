"""`Recipe`: how a worker makes the service of its data set, as values that fit into a frame.

A recipe names a function by its module. The front never calls it, so it never imports what reads
data. The owner's own configuration is where recipes come from; nothing of an analyst's is in them.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import attrs

CONFIGURED = "curator.service.answering.opening:configured"
"""The service of a data set of a configuration."""


@attrs.frozen
class Opened:
    """What a recipe makes.

    Attributes:
        service: a `Service`.
        about: the public description of its data, as values of JSON.
        close: gives up data and ledger.
    """

    service: Any
    about: Mapping[str, Any]
    close: Callable[[], None]


@attrs.frozen
class Recipe:
    """A function that opens a service, and its arguments.

    Attributes:
        function: "MODULE:NAME". It is called with the arguments and `give_up`: whether a message
            that was under way when the last worker ended has failed.
        arguments: values of JSON.
        network: whether the worker needs other machines: its data or its ledger are there.
    """

    function: str
    arguments: Mapping[str, Any] = attrs.field(factory=dict)
    network: bool = False

    def opener(self) -> Callable[..., Opened]:
        """The function."""
        module, _, name = self.function.partition(":")
        found: Callable[..., Opened] = getattr(import_module(module), name)
        return found
