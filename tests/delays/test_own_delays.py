"""Delays of one's own: found by their path, or brought by an installed package, and checked."""

from __future__ import annotations

import numpy as np
import pytest

from latesum import Problem, compare, delays
from latesum._checks import InvalidInput
from latesum._plugins import DELAYS
from latesum.errors import NotConforming

#: A module of an installed package.
OWN = """
from latesum.delays import constant

def twice(delay):
    return constant(2 * delay)
"""


def _package(folder, name, entries):
    """An installed package as pip leaves it: a module, and a folder that describes it."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(OWN, encoding="utf-8")
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = "".join(f"{entry} = {target}\n" for entry, target in entries.items())
    (about / "entry_points.txt").write_text(f"[latesum.delays]\n{lines}")
    return folder


@pytest.fixture
def unread(monkeypatch):
    """Entry points are read once per process; here they are read again, and forgotten."""
    monkeypatch.setattr(DELAYS, "_known", dict(DELAYS._known))
    DELAYS.__dict__.pop("_entry_points", None)
    yield
    DELAYS.__dict__.pop("_entry_points", None)


@pytest.mark.usefixtures("unread")
@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ({"uniform": "own_delays:twice"}, "brings a delay 'uniform'"),
        ({"twice": "own_delays:thrice"}, "'twice' of the package 'own_delays' cannot be loaded"),
        ({"twice": "no_module:twice"}, "'twice' of the package 'own_delays' cannot be loaded"),
    ],
)
def test_a_package_at_fault_is_named(tmp_path, monkeypatch, entries, sentence):
    monkeypatch.syspath_prepend(str(_package(tmp_path / "site", "own_delays", entries)))
    with pytest.raises(InvalidInput, match=sentence):
        delays.parse("twice(30)")


@pytest.mark.usefixtures("unread")
def test_two_packages_must_not_use_one_name(tmp_path, monkeypatch):
    for name in ("own_delays", "other_delays"):
        folder = _package(tmp_path / name, name, {"twice": f"{name}:twice"})
        monkeypatch.syspath_prepend(str(folder))
    with pytest.raises(InvalidInput, match="brings a delay 'twice', and there is one of that name"):
        delays.parse("twice(30)")


class _Sure(delays.Delay):
    """Always 3, unless it is to break the protocol."""

    def __init__(self, breach="nothing"):
        self.breach = breach

    @property
    def text(self):
        return "not_there()" if self.breach == "text" else f"{__name__}:_Sure({self.breach!r})"

    @property
    def bound(self):
        return 2 if self.breach == "bound" else 3

    @property
    def mean(self):
        return 4.0 if self.breach == "mean" else 3.0

    def survival(self, k):
        alive = np.where(np.asarray(k) >= 3, 0.0, 1.0)
        return alive / 2 if self.breach == "survival" else alive

    def draw(self, count, rng):
        if self.breach == "type":
            return np.full(count, 3.0)
        return np.full(count, 1 if self.breach == "law" else 3, dtype=np.int64)

    def draw_beyond(self, k, rng):
        return np.full(len(k), 2 if self.breach == "beyond" else 3, dtype=np.int64)


@pytest.fixture
def found(monkeypatch):
    """What is found by its path is known in one test only."""
    monkeypatch.setattr(DELAYS, "_known", dict(DELAYS._known))


@pytest.mark.usefixtures("found")
def test_a_delay_is_read_by_its_path_and_conforms():
    assert delays.parse(f"{_Sure().text}.clipped(2)").mean == 2
    delays.check(_Sure())


@pytest.mark.parametrize(
    ("breach", "sentence"),
    [
        ("text", "there is no delay 'not_there'"),
        ("bound", "survival must be 0 from the bound 2 on"),
        ("survival", "survival must be 1 for negative numbers"),
        ("type", "whole numbers"),
        ("law", "does not have the law of its survival function"),
        ("mean", "says that its mean is 4"),
        ("beyond", "draw_beyond"),
    ],
)
@pytest.mark.usefixtures("found")
def test_a_delay_that_contradicts_itself_is_found(breach, sentence):
    with pytest.raises(NotConforming, match=sentence):
        delays.check(_Sure(breach))


def test_what_makes_no_delay_is_refused():
    with pytest.raises(InvalidInput, match="makes -3, which is not a delay"):
        delays.parse("mixture((1, operator:neg(3)))")
    with pytest.raises(InvalidInput, match="cannot be called"):
        delays.parse("math:pi()")


class _Slow(delays.Delay):
    """A law of one's own that has the text of a family."""

    def __init__(self, low, high):
        self.low, self.high = low, high

    @property
    def text(self):
        return f"uniform({self.low}, {self.high})"

    @property
    def bound(self):
        return self.high

    def survival(self, k):
        return np.where(np.asarray(k) >= self.high, 0.0, 1.0)

    def draw(self, count, rng):
        return np.full(count, self.high, dtype=np.int64)


@pytest.mark.parametrize(
    "change",
    [
        lambda delay: delay,
        lambda delay: delay.clipped(8),
        lambda delay: delay.truncated(9),
        lambda delay: delays.mixture((0.5, delay), (0.5, delays.constant(0))),
    ],
)
def test_a_delay_with_the_text_of_a_family_is_not_the_family(change):
    """Nothing that is kept of one (curves, quantiles, tables) may serve the other."""
    family, own = change(delays.uniform(0, 9)), change(_Slow(0, 9))
    assert own.text == family.text
    assert own != family
    assert own == change(_Slow(0, 9))
    assert family.quantile(0.7) != own.quantile(0.7)


def test_results_of_a_delay_with_the_text_of_a_family_are_not_kept_under_that_text(tmp_path):
    problem = Problem([0.2, 0.8], _Slow(0, 9))
    with pytest.raises(InvalidInput, match=r"a _Slow delay, .uniform\(0, 9\).,"):
        compare(problem, {"ODAAF": "odaaf"}, 1_000, replications=1, seed=1, store=tmp_path)
    with pytest.raises(NotConforming, match="reads back as another delay"):
        delays.check(_Slow(0, 9))


def test_a_delay_whose_text_cannot_be_read_is_compared():
    problem = Problem([0.2, 0.8], _Sure("text"))
    with pytest.raises(InvalidInput, match="there is no delay 'not_there'"):
        delays.parse(problem.delay.text)
    found = compare(problem, {"ODAAF": "odaaf"}, 1_000, replications=1, seed=1)
    assert found["ODAAF"].regrets.shape[0] == 1
