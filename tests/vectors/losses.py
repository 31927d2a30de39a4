"""Losses as vectors write them: the name of the class, then its fields as fractions."""

from fractions import Fraction
from typing import Any

import attrs

from queryable import losses
from queryable.losses import Loss

Written = list[Any]


def written(loss: Loss) -> Written:
    """A loss as a list."""
    fields = (getattr(loss, field.name) for field in attrs.fields(type(loss)) if field.init)  # type: ignore[arg-type]
    return [type(loss).__name__, *map(_text, fields)]


def loss_of(text: Written) -> Loss:
    """The loss of a list."""
    loss: Loss = getattr(losses, text[0])(*text[1:])
    return loss


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, Fraction) else [str(each) for each in value]
