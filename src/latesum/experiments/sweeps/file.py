# ruff: noqa: E402
"""Reading an experiment from a TOML or YAML file; what is wrong is named with its line."""

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

Lines = dict[Location, int]

_ENTRIES: dict[str, type[BaseModel]] = {
    "problems": ProblemEntry,
    "policies": PolicyEntry,
    "ratio": Ratio,
}


def load(path: str | Path) -> Grid:
    """Read and check the experiment in a file that ends with .toml, .yaml or .yml."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"cannot read {path}: {error}.") from None
    return parse(text, path.suffix.lower(), str(path), default_name=path.stem)


def parse(text: str, kind: str, source: str, *, default_name: str | None = None) -> Grid:
    """Read an experiment from text; `kind` is .toml, .yaml or .yml, `source` names it in errors.

    >>> parse("horizon = 10", ".toml", "small.toml", default_name="small")
    Traceback (most recent call last):
    ...
    latesum.errors.InvalidInput: small.toml: replications: this is missing; add it.
    small.toml: problems: this is missing; add it.
    small.toml: policies: this is missing; add it.
    """
    if kind == ".toml":
        content, lines = _read_toml(text, source)
    elif kind in (".yaml", ".yml"):
        content, lines = _read_yaml(text, source)
    else:
        raise InvalidInput(f"{source} must end with .toml, .yaml or .yml.")
    if not isinstance(content, dict):
        raise InvalidInput(f"{source} must hold keys and values, such as horizon and problems.")
    if default_name is not None:
        content.setdefault("name", default_name)
    try:
        experiment = Experiment.model_validate(content)
    except ValidationError as refusal:
        raise InvalidInput(_sentences(refusal, source, lines)) from None
    try:
        return Grid.of(experiment)
    except Misplaced as refusal:
        place = _place(source, refusal.location, lines)
        raise InvalidInput(f"{place}: {refusal.message}") from None


def _read_toml(text: str, source: str) -> tuple[Any, Lines]:
    try:
        return tomllib.loads(text), toml_lines(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{source} is not TOML: {error}.") from None


def _read_yaml(text: str, source: str) -> tuple[Any, Lines]:
    import yaml

    try:
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error)
        raise InvalidInput(f"{source}{line}: this is not YAML: {problem}.") from None
    lines: Lines = {}
    _note_yaml_lines(tree, (), lines, source)
    return content, lines


def _note_yaml_lines(node: Any, location: Location, lines: Lines, source: str) -> None:
    if node is None:
        return
    if node.id == "mapping":
        for key, value in node.value:
            inner = (*location, str(key.value))
            line = key.start_mark.line + 1
            if inner in lines:
                raise InvalidInput(
                    f"{source}, line {line}: {key.value} is there already, in line {lines[inner]}; "
                    "remove one."
                )
            lines[inner] = line
            _note_yaml_lines(value, inner, lines, source)
    elif node.id == "sequence":
        for index, value in enumerate(node.value):
            lines[(*location, index)] = value.start_mark.line + 1
            _note_yaml_lines(value, (*location, index), lines, source)


_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")


def toml_lines(text: str) -> Lines:
    """The line of every key that stands on a line of its own: the parser keeps none.

    >>> toml_lines("seed = 1\\n[[problems]]\\narms = [0.5, 0.6]")[("problems", 0, "arms")]
    3
    """
    lines: Lines = {}
    counts: dict[Location, int] = {}
    table: Location = ()
    array: Location = ()  # the key whose array goes on over several lines
    items = 0
    in_string = False
    for number, line in enumerate(text.splitlines(), start=1):
        was_in_string = in_string
        if (line.count('"""') + line.count("'''")) % 2:
            in_string = not in_string
        if was_in_string:
            continue
        if header := _HEADER.fullmatch(line):
            table = _header_location(header[2], header[1] == "[[", counts)
            lines.setdefault(table, number)
            array = ()
        elif array and line.lstrip().startswith("{"):
            lines[(*array, items)] = number
            items += 1
        elif key := _KEY.match(line):
            location = (*table, *_parts(key[1]))
            lines.setdefault(location, number)
            array, items = location, 0
    return lines


def _header_location(name: str, opens_item: bool, counts: dict[Location, int]) -> Location:
    location: Location = ()
    parts = _parts(name)
    for index, part in enumerate(parts):
        location = (*location, part)
        if opens_item and index == len(parts) - 1:
            counts[location] = counts.get(location, -1) + 1
        if location in counts:
            location = (*location, counts[location])
    return location


def _parts(name: str) -> list[str]:
    return [part.strip().strip("\"'") for part in name.split(".")]


def _place(source: str, location: Location, lines: Lines) -> str:
    for length in range(len(location), 0, -1):
        if location[:length] in lines:
            return f"{source}, line {lines[location[:length]]}: {where(location)}"
    return f"{source}: {where(location)}" if location else source


def _sentences(refusal: ValidationError, source: str, lines: Lines) -> str:
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
        sentences[location] = f"{_place(source, location, lines)}: {_remedy(error, location)}"
    return "\n".join(sentences.values())


def _real_location(location: tuple[int | str, ...]) -> Location:
    """Without the names of types that pydantic adds where several are possible."""
    types = re.compile(r"list\[|list$|constrained-|(str|int|float|bool)$")
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
