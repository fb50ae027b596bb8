"""What other packages add to latesum by entry points: found when first needed, loaded by name."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from latesum._checks import InvalidInput

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def plugins(group: str, taken: Collection[str]) -> dict[str, EntryPoint]:
    """The entry points of a group by name, not yet loaded; a name used twice is refused.

    Args:
        group: the entry points' group, such as "latesum.delays".
        taken: names that latesum itself uses.

    >>> plugins("latesum.no_such_group", taken=["uniform"])
    {}
    """
    from importlib.metadata import entry_points  # imported late: it brings the email package

    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        if entry.name in taken:
            raise InvalidInput(
                f"the package {_package(entry)} calls something {entry.name!r} ({group}), and "
                "latesum has that name already; it must be renamed there."
            )
        other = found.setdefault(entry.name, entry)
        if other.value != entry.value:
            raise InvalidInput(
                f"the packages {_package(other)} and {_package(entry)} both call something "
                f"{entry.name!r} ({group}); keep one of them."
            )
    return found


def load(entry: EntryPoint) -> Any:
    """What an entry point names, or a refusal that says which package is at fault."""
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        raise InvalidInput(
            f"{entry.name!r} cannot be loaded from the package {_package(entry)}: {error}."
        ) from error


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else entry.module
