"""latesum beside the libraries that you use already.

`RoundEnv` and `BlockEnv` are Gymnasium environments (extra `gymnasium`). `RiverPolicy`, `MABWiserPolicy` and
`SMPyBanditsPolicy` let policies of river, MABWiser and SMPyBandits play latesum's problems, `play_labelled` and `compare_labelled` run them, and `AskTell` is a policy as Optuna's users
know it. Only the environments import the library that they speak to.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from latesum.adapters.ask_tell import AskTell, Trial
from latesum.adapters.labelled import (
    LabelledPolicy,
    MABWiserPolicy,
    RiverPolicy,
    SMPyBanditsPolicy,
    compare_labelled,
    play_labelled,
)

if _TYPE_CHECKING:
    from latesum.adapters.environments import BlockEnv as BlockEnv
    from latesum.adapters.environments import RoundEnv as RoundEnv

#: Public too, but importing them needs an extra.
_ENVIRONMENTS = ("RoundEnv", "BlockEnv")

__all__ = [
    "AskTell",
    "LabelledPolicy",
    "MABWiserPolicy",
    "RiverPolicy",
    "SMPyBanditsPolicy",
    "Trial",
    "compare_labelled",
    "play_labelled",
]


def __getattr__(name: str) -> object:
    if name not in _ENVIRONMENTS:
        raise AttributeError(f"module 'latesum.adapters' has no attribute {name!r}")
    from latesum.adapters import environments

    return getattr(environments, name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_ENVIRONMENTS])
