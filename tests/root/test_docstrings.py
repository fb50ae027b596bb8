"""Docstrings of what users use: there is one, with no parameter that is not there, and an example.

What users use is what `dir(latesum)` shows, what its packages export, and their methods. flake8 with
pydoclint (`make lint`) sees that parameters are listed in their order.
"""

import dataclasses
import importlib
import inspect
import re

import pytest
from docstring_parser.google import GoogleParser

import latesum

_ROOMS = """
adapters adapters.environments attributed delays errors files experiments campaigns markets
planning policies theory simulation
"""
ROOMS = _ROOMS.split()


def _exported():
    for room in ["", *(f".{room}" for room in ROOMS)]:
        module = importlib.import_module(f"latesum{room}")
        for name in dir(module) if module is latesum else module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                yield f"{value.__module__}.{value.__qualname__}", value


def _methods(owner):
    """The public methods of a class that do not replace one with a docstring of its own."""
    for name, value in vars(owner).items():
        function = inspect.unwrap(getattr(value, "__func__", value))
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        # Rewards are no subclasses of their protocol, which documents their methods.
        parents = [*owner.__mro__[1:], latesum.Reward]
        inherited = (getattr(parent, name, None) for parent in parents if parent is not owner)
        if function.__doc__ or not any(inspect.getdoc(each) for each in inherited):
            yield f"{owner.__module__}.{owner.__qualname__}.{name}", function


EXPORTED = dict(_exported())
FUNCTIONS = {name: value for name, value in EXPORTED.items() if inspect.isfunction(value)}
CLASSES = {name: value for name, value in EXPORTED.items() if inspect.isclass(value)}
METHODS = {name: value for owner in CLASSES.values() for name, value in _methods(owner)}
CONSTRUCTORS = {
    name: value
    for name, value in CLASSES.items()
    if "__init__" in vars(value) and not getattr(value, "_is_protocol", False)
}
#: Classes whose fields are their constructor's parameters.
RECORDS = {
    name: value
    for name, value in CLASSES.items()
    if name not in CONSTRUCTORS or dataclasses.is_dataclass(value)
    if dataclasses.is_dataclass(value) or hasattr(value, "_fields")
}


def _listed(value):
    parsed = GoogleParser().parse(inspect.cleandoc(value.__doc__ or ""))
    return [re.sub(r"^\**", "", each.arg_name) for each in parsed.params]


def _parameters(value):
    return [name for name in inspect.signature(value).parameters if name not in ("self", "cls")]


@pytest.mark.parametrize("name", sorted({**FUNCTIONS, **METHODS}))
def test_a_list_of_parameters_is_that_of_the_function(name):
    value = {**FUNCTIONS, **METHODS}[name]
    assert value.__doc__
    assert set(_listed(value)) <= set(_parameters(value))


@pytest.mark.parametrize("name", sorted({**CONSTRUCTORS, **RECORDS}))
def test_a_list_of_parameters_is_that_of_the_constructor(name):
    value = {**CONSTRUCTORS, **RECORDS}[name]
    assert set(_listed(value)) <= set(_parameters(value))


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_function_has_an_example(name):
    assert ">>>" in FUNCTIONS[name].__doc__
