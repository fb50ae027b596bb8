"""Docstrings of what users use: every function and method has one, and every function an example.

What users use is what `dir(latesum)` shows, what its packages export, and their methods. flake8 with
pydoclint (`make lint`) sees that parameters which are listed are there, in their order.
"""

import importlib
import inspect

import pytest

import latesum

_PACKAGES = """
adapters adapters.environments attributed delays errors files experiments campaigns markets
planning policies theory simulation
"""
MODULES = [latesum, *(importlib.import_module(f"latesum.{name}") for name in _PACKAGES.split())]
EXPORTED = {
    f"{value.__module__}.{value.__qualname__}": value
    for module in MODULES
    for name in (dir(module) if module is latesum else module.__all__)
    if inspect.isclass(value := getattr(module, name)) or inspect.isfunction(value)
}


def without_docstring(owner):
    """The public methods of a class without a docstring, of their own or of what they replace."""
    for name, value in vars(owner).items():
        function = inspect.unwrap(getattr(value, "__func__", value))
        if not name.startswith("_") and inspect.isfunction(function):
            # Rewards are no subclasses of their protocol, which documents their methods.
            replaced = (getattr(parent, name, None) for parent in [*owner.__mro__, latesum.Reward])
            if not any(inspect.getdoc(each) for each in replaced):
                yield name


@pytest.mark.parametrize("name", sorted(EXPORTED))
def test_it_is_documented_and_a_function_has_an_example(name):
    value = EXPORTED[name]
    if inspect.isfunction(value):
        assert ">>>" in value.__doc__
    else:
        assert inspect.getdoc(value)
        assert list(without_docstring(value)) == []
