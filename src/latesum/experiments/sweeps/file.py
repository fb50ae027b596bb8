# ruff: noqa: E402
"""Reading an experiment from a TOML file; what is wrong is named by its key path."""

from __future__ import annotations

from latesum._extras import need

need("experiments")  # before anything of it is imported

import difflib
import re
import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from latesum._checks import InvalidInput
from latesum.experiments.sweeps.experiment import Experiment, PolicyEntry, ProblemEntry, Ratio
from latesum.experiments.sweeps.grid import Grid, Location, Misplaced, where

_ENTRIES: dict[str, type[BaseModel]] = {
    "problems": ProblemEntry,
    "policies": PolicyEntry,
    "ratio": Ratio,
}


def load(path: str | Path) -> Grid:
    """Read and check the experiment in a TOML file."""
    path = Path(path)
    if path.suffix.lower() != ".toml":
        raise InvalidInput(f"{path} must be a TOML file, whose name ends with .toml.")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"cannot read {path}: {error}.") from None
    return parse(text, str(path), default_name=path.stem)


def parse(text: str, source: str, *, default_name: str | None = None) -> Grid:
    """Read an experiment from TOML; `source` names it in errors.

    >>> parse("horizon = 10", "small.toml", default_name="small")
    Traceback (most recent call last):
    ...
    latesum.errors.InvalidInput: small.toml: replications: this is missing; add it.
    small.toml: problems: this is missing; add it.
    small.toml: policies: this is missing; add it.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{source} is not TOML: {error}.") from None
    if default_name is not None:
        content.setdefault("name", default_name)
    try:
        experiment = Experiment.model_validate(content)
    except ValidationError as refusal:
        raise InvalidInput(_sentences(refusal, source)) from None
    try:
        return Grid.of(experiment)
    except Misplaced as refusal:
        raise InvalidInput(f"{source}: {refusal}") from None


def _sentences(refusal: ValidationError, source: str) -> str:
    """One line for each thing that is wrong, misspelt keys first."""
    errors = sorted(refusal.errors(), key=lambda error: error["type"] != "extra_forbidden")
    sentences: dict[Location, str] = {}
    meant: set[Location] = set()  # what misspelt keys stand for is not missing as well
    for error in errors:
        location = _real_location(error["loc"])
        if error["type"] == "extra_forbidden":
            meant.update((*location[:-1], name) for name in _nearest(location))
        if location in sentences or (error["type"] == "missing" and location in meant):
            continue  # a value that may be of several types is refused once for each of them
        if any(location == (*misspelt[:-1],) for misspelt in sentences):
            continue
        place = f"{source}: {where(location)}" if location else source
        sentences[location] = f"{place}: {_remedy(error, location)}"
    return "\n".join(sentences.values())


def _real_location(location: tuple[int | str, ...]) -> Location:
    """Without the names of types that pydantic adds where several are possible."""
    types = re.compile(r"list\[|list$|constrained-|literal\[|(str|int|float|bool)$")
    kept = [part for part in location if isinstance(part, int) or not types.match(part)]
    return tuple(kept)


def _known(location: Location) -> list[str]:
    """The keys that there are beside the last one of a location."""
    names = [part for part in location[:-1] if isinstance(part, str)]
    return sorted(_ENTRIES.get(names[-1] if names else "", Experiment).model_fields)


def _nearest(location: Location) -> list[str]:
    return difflib.get_close_matches(str(location[-1]), _known(location), n=1, cutoff=0.4)


def _remedy(error: Any, location: Location) -> str:
    if error["type"] == "extra_forbidden":
        hint = "".join(f"did you mean {name!r}? " for name in _nearest(location))
        return f"there is no key {location[-1]!r}; {hint}Known: {', '.join(_known(location))}."
    if error["type"] == "missing":
        return "this is missing; add it."
    own = error["type"] == "value_error"
    message = str(error["ctx"]["error"] if own else error["msg"])
    message = message[:1].lower() + message[1:]
    shown = repr(error["input"])
    return f"{message}, not {shown}." if len(shown) < 60 else f"{message}."
