"""The conversation of a compositor, and the runner that holds it."""

from typing import TYPE_CHECKING

from queryable.lazily import lazily

if TYPE_CHECKING:
    from queryable.conversation.compositor import Compositor
    from queryable.conversation.frames import Live
    from queryable.conversation.running import Run
    from queryable.conversation.steps import (
        LOST,
        Drop,
        LeafOutcome,
        Moved,
        Node,
        Pass,
        Ready,
        Reported,
        Say,
        Start,
        Talk,
    )
    from queryable.data.facts import Data
    from queryable.data.later import Later, made
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "queryable.conversation.compositor": "Compositor",
            "queryable.conversation.frames": "Live",
            "queryable.conversation.running": "Run",
            "queryable.conversation.steps": (
                "LOST Drop Moved Node Pass Ready Reported Say Start Talk Told"
            ),
            "queryable.data.facts": "Data",
            "queryable.data.later": "Later made",
        },
    )

__all__ = [
    "LOST",
    "Compositor",
    "Data",
    "Drop",
    "Later",
    "Live",
    "Moved",
    "Node",
    "Pass",
    "Ready",
    "Reported",
    "Run",
    "Say",
    "Start",
    "Talk",
    "LeafOutcome",
    "made",
]
