"""Values of the data that a conversation may hold and cannot look at.

Responsible for `Later`, a value that is made when a mechanism needs it. A compositor gets records
in this form alone (`queryable.data.facts`, `queryable.conversation`). So what it does cannot depend
on a record, and nothing of a record reaches its log, its answers or its errors. Does not know who
makes the values, or what they cost.
"""

from collections.abc import Callable
from typing import Any, NoReturn, Self, final


def _hidden(*_: Any) -> NoReturn:
    raise TypeError("a conversation may not look at data; give the Later to what it starts")


@final
class Later:
    """A value that is made of data when it is needed, and once.

    It may stand in the data of a `Start`, in a batch, in other `Later`s and in the state of a
    compositor. It has no truth, order, length, items or arithmetic, and equals itself alone.

    Args:
        function: makes the value; a pure function of the inputs.
        inputs: values, or `Later`s, which are made first.
    """

    __slots__ = ("__weakref__", "_function", "_inputs", "_value")

    def __init__(self, function: Callable[..., Any], *inputs: Any) -> None:
        self._function: Callable[..., Any] | None = function
        self._inputs = inputs
        self._value: Any = None

    @classmethod
    def of(cls, value: Any) -> "Later":
        """A value that is there already. A `Later` is returned as it is."""
        if type(value) is cls:
            return value
        later = cls.__new__(cls)
        later._function, later._inputs, later._value = None, (), value
        return later

    def __repr__(self) -> str:
        return "Later()"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Later is not written: it may hold data")

    __bool__ = __len__ = __iter__ = __next__ = __getitem__ = __contains__ = __call__ = _hidden
    __index__ = __int__ = __float__ = __complex__ = __bytes__ = __format__ = __reversed__ = _hidden
    __lt__ = __le__ = __gt__ = __ge__ = _hidden
    __neg__ = __pos__ = __abs__ = __invert__ = __round__ = __trunc__ = __floor__ = __ceil__ = (
        _hidden
    )
    __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = _hidden
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = _hidden
    __and__ = __or__ = __xor__ = __rand__ = __ror__ = __rxor__ = __matmul__ = __divmod__ = _hidden
    __lshift__ = __rshift__ = __array__ = __enter__ = __exit__ = _hidden


def made(value: Any) -> Any:
    """The value itself, or what a `Later` stands for. This reads data.

    Inputs are made first, one after the other: a chain of any length takes no stack. A value that
    cannot be made is tried again the next time.
    """
    if type(value) is not Later:
        return value
    if value._function is None:
        return value._value
    due = [value]
    while due:
        later = due[-1]
        function = later._function
        if function is None:
            due.pop()
            continue
        unmade = [it for it in later._inputs if type(it) is Later and it._function is not None]
        if unmade:
            due += unmade
            continue
        inputs = [each._value if type(each) is Later else each for each in later._inputs]
        later._value = function(*inputs)
        later._function = None  # from here on it is made
        later._inputs = ()
        due.pop()
    return value._value


PLAIN = frozenset({int, str, float, bool, type(None)})
_DEEPEST = 3


def holds_later(value: Any, depth: int = _DEEPEST) -> bool:
    """Whether a `Later` stands in a value, or in a collection or record in it. Reads no data."""
    kind = type(value)
    if kind is Later or getattr(kind, "holds_later", False):
        return True
    if not depth:
        return False
    if isinstance(value, tuple | list | set | frozenset):
        inner: Any = value
    elif isinstance(value, dict):
        inner = value.values()
    else:  # what a record does not compare, such as a receipt, is about it and not in it
        fields = getattr(kind, "__attrs_attrs__", ())
        inner = [getattr(value, each.name, None) for each in fields if each.eq]
    return any(type(each) not in PLAIN and holds_later(each, depth - 1) for each in inner)
