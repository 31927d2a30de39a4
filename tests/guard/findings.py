"""What the guard finds."""

from typing import Any

import attrs


@attrs.frozen
class Finding:
    """A claim that is false, or an outcome that should not be.

    Attributes:
        rule: what was broken, in a few words.
        tag: the tag of the changed value.
        changed: the names of the fields that were changed.
        told: what was found, such as the two values.
        where: the data and the engine.
        sent: the text of the value that shows it, or of the messages.
    """

    rule: str
    tag: str
    changed: str
    told: str
    where: str
    sent: str = attrs.field(repr=False)

    @property
    def key(self) -> tuple[str, str]:
        """What makes it another finding."""
        return self.rule, self.tag

    def __str__(self) -> str:
        place = f"{self.changed or 'nothing'} of {self.tag}"
        return f"{self.rule}, {place}: {self.told} [{self.where}]\n    {self.sent[:800]}"


@attrs.frozen
class Fault:
    """What a check says; the walk makes a `Finding` of it."""

    rule: str
    told: str
    where: str


def short(value: Any, most: int = 200) -> str:
    """A value in a message."""
    try:
        text = repr(value)
    except Exception as error:
        text = f"<{type(value).__name__}: its repr raises {type(error).__name__}>"
    return text if len(text) <= most else f"{text[:most]}..."
