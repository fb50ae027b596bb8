"""Adapters to other libraries.

`RoundEnv` and `BlockEnv` are Gymnasium environments (extra `gymnasium`). `compare_attributed` plays
policies of river, MABWiser or your own that take attributed feedback, reward by reward.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from latesum.adapters.attributed import AttributedPlayer, compare_attributed

if _TYPE_CHECKING:
    from latesum.adapters.environments import BlockEnv as BlockEnv
    from latesum.adapters.environments import RoundEnv as RoundEnv

#: Public too, but importing them needs an extra.
_ENVIRONMENTS = ("RoundEnv", "BlockEnv")

__all__ = ["AttributedPlayer", "compare_attributed"]


def __getattr__(name: str) -> object:
    if name not in _ENVIRONMENTS:
        raise AttributeError(f"module 'latesum.adapters' has no attribute {name!r}")
    from latesum.adapters import environments

    return getattr(environments, name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_ENVIRONMENTS])
