"""Mutation testing: small changes of the source, each of which a test must notice.

    python tests/mutants/run.py                 # all mutants of mutants.toml
    python tests/mutants/run.py --only odaaf    # those whose place contains a text

A mutant names a function and what changes in it, so that it outlives any change of lines. Its kind:

- `operator`: the operator `old` becomes `new`,
- `number`: the constant `old` becomes `new`,
- `name`: the name or attribute `old` becomes `new`,
- `condition`: the condition of an `if`, `while` or comprehension, or of a conditional expression,
  that contains `old` becomes `new` (`not` negates it),
- `return`: the returned value that contains `old` becomes `new`,
- `drop`: the statement that contains `old` is left out,
- `argument`: the argument named `old` of a call is left out.

`nth` counts the places from 0 where there are several. Each mutant is tried in a copy of the source,
against the tests that it names.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
#: A mutant that makes a test run forever is noticed too.
SECONDS = 240

#: Operators by how they are written: found in an expression made of each.
_OPERATORS = {
    text: type(ast.parse(f"a {text} b", mode="eval").body.ops[0])
    for text in ("<", "<=", ">", ">=", "==", "!=", "in", "not in", "is", "is not")
} | {
    text: type(ast.parse(f"a {text} b", mode="eval").body.op)
    for text in ("+", "-", "*", "/", "//", "and", "or", "|", "&")
}


class Mutant(NamedTuple):
    """One change: where it is, what changes, and the tests that must notice it."""

    what: str
    where: str
    kind: str
    old: str
    new: str
    nth: int
    tests: list[str]

    @property
    def path(self) -> Path:
        """The source file, below the folder `src`."""
        return Path(*self.where.split(":")[0].split(".")).with_suffix(".py")

    def source(self) -> str:
        """The text of the file with the change."""
        tree = ast.parse((ROOT / "src" / self.path).read_text())
        scope: Any = tree
        for name in self.where.split(":")[1].split("."):
            scope = next(node for node in scope.body if getattr(node, "name", None) == name)
        change = list(self._changes(scope))[self.nth]
        change()
        return ast.unparse(ast.fix_missing_locations(tree))

    def _changes(self, scope: ast.AST) -> Iterator[Any]:
        """The places that fit, each as a function that makes the change there."""
        for node in ast.walk(scope):
            yield from getattr(self, f"_{self.kind}")(node)

    def _has_old(self, node: ast.AST | None) -> bool:
        return node is not None and self.old in ast.unparse(node)

    def _operator(self, node: Any) -> Iterator[Any]:
        old, new = _OPERATORS[self.old], _OPERATORS[self.new]()
        if isinstance(node, ast.Compare):
            for place, found in enumerate(node.ops):
                if isinstance(found, old):
                    yield partial(node.ops.__setitem__, place, new)
        elif isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and isinstance(node.op, old):
            yield partial(setattr, node, "op", new)

    def _number(self, node: Any) -> Iterator[Any]:
        if isinstance(node, ast.Constant) and repr(node.value) == self.old:
            yield partial(setattr, node, "value", ast.literal_eval(self.new))

    def _name(self, node: Any) -> Iterator[Any]:
        if isinstance(node, ast.Name) and node.id == self.old:
            yield partial(setattr, node, "id", self.new)
        elif isinstance(node, ast.Attribute) and node.attr == self.old:
            yield partial(setattr, node, "attr", self.new)

    def _condition(self, node: Any) -> Iterator[Any]:
        if isinstance(node, ast.comprehension):
            for place, test in enumerate(node.ifs):
                if self._has_old(test):
                    yield partial(node.ifs.__setitem__, place, self._new_test(test))
        elif isinstance(node, ast.If | ast.IfExp | ast.While) and self._has_old(node.test):
            yield partial(setattr, node, "test", self._new_test(node.test))

    def _new_test(self, test: ast.expr) -> ast.expr:
        if self.new == "not":
            return ast.UnaryOp(ast.Not(), test)
        return ast.parse(self.new, mode="eval").body

    def _return(self, node: Any) -> Iterator[Any]:
        if isinstance(node, ast.Return) and self._has_old(node.value):
            yield partial(setattr, node, "value", ast.parse(self.new, mode="eval").body)

    def _drop(self, node: Any) -> Iterator[Any]:
        for block in ("body", "orelse", "finalbody"):
            lines = getattr(node, block, None)
            for place, line in enumerate(lines if isinstance(lines, list) else []):
                compound = hasattr(line, "body") or isinstance(line, ast.Match)
                if not compound and self._has_old(line):
                    yield partial(lines.__setitem__, place, ast.Pass())

    def _argument(self, node: Any) -> Iterator[Any]:
        if isinstance(node, ast.Call) and any(each.arg == self.old for each in node.keywords):
            kept = [each for each in node.keywords if each.arg != self.old]
            yield partial(setattr, node, "keywords", kept)


def load() -> list[Mutant]:
    """The list of mutants."""
    entries = tomllib.loads((Path(__file__).parent / "mutants.toml").read_text())["mutant"]
    return [Mutant(**{"old": "", "new": "", "nth": 0, **entry}) for entry in entries]


def is_killed(mutant: Mutant) -> bool:
    """Whether a test fails with the change."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        (source / mutant.path).write_text(mutant.source())
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
        try:
            ran = subprocess.run(
                [*command, *mutant.tests],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(source)},
                capture_output=True,
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired:
            return True
        if ran.returncode not in (0, 1):
            sys.exit(f"{mutant.what}: {ran.stdout.decode()[-2000:]}")
        return ran.returncode == 1


def main() -> None:
    """Try the mutants that were asked for, and list those that no test noticed."""
    parser = argparse.ArgumentParser(description="Mutation testing of latesum.")
    parser.add_argument("--only", default="", help="mutants whose place or text contains this")
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    mutants = [each for each in load() if asked.only in f"{each.where} {each.what}"]
    survivors = []
    with ThreadPoolExecutor(asked.workers) as pool:
        for mutant, killed in zip(mutants, pool.map(is_killed, mutants), strict=True):
            print("killed  " if killed else "SURVIVED", mutant.where, "-", mutant.what, flush=True)
            survivors += [] if killed else [mutant]
    print(f"{len(mutants) - len(survivors)} of {len(mutants)} mutants were killed.")
    sys.exit(len(survivors) > 0.05 * len(mutants))


if __name__ == "__main__":
    main()
