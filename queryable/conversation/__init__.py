"""The conversation of a compositor, and the runner that holds it."""

from queryable.conversation.compositor import Compositor
from queryable.conversation.running import Run
from queryable.conversation.steps import (
    LOST,
    Drop,
    Live,
    Moved,
    Node,
    Pass,
    Ready,
    Say,
    Start,
    Talk,
    Told,
)
from queryable.data.later import Data, Later, made

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
    "Run",
    "Say",
    "Start",
    "Talk",
    "Told",
    "made",
]
