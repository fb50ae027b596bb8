"""An entry: a policy in one track. Its test seeds follow from its source."""

from __future__ import annotations

import hashlib
import importlib
import json
import math
from dataclasses import dataclass
from pathlib import Path

from latesum._checks import InvalidInput, known_name
from latesum.attributed import AttributedPolicy
from latesum.benchmark.suites import Cell, Suite
from latesum.experiments.spec import RunSpec, knowledge
from latesum.policies import PolicySpec, conformance
from latesum.simulation import Problem

#: What a policy is given of the delay, by track: names of parameters. In every track it is given
#: the number of arms, the horizon and the bucket.
TRACKS: dict[str, tuple[str, ...]] = {
    "nothing": (),
    "mean": ("mean_delay",),
    "bound": ("mean_delay", "delay_bound"),
    "variance": ("mean_delay", "delay_variance"),
    "distribution": ("mean_delay", "delay_bound", "delay_variance", "delay"),
}


@dataclass(frozen=True)
class Entry:
    """A policy with its parameters, the same for all problems, and its track.

    >>> entry = Entry.read("flow(index='ucb1')", "mean")
    >>> str(entry.policy), entry.track, entry.index
    ("flow(index='ucb1')", 'mean', 'ucb1')
    """

    policy: PolicySpec
    track: str
    #: The files of its package by their paths, as text.
    source: dict[str, str]
    #: The index that the policy declares (`index`, or `base` of an attributed baseline), for
    #: tables of policies with the same one.
    index: str = ""

    @classmethod
    def read(cls, text: str, track: str) -> Entry:
        """The entry that is written as `name(parameter=value)` or `package.module:Class(...)`.

        A misspelled policy, parameter or track is refused, and so is a policy that does not pass
        the conformance suite.
        """
        known_name(track, TRACKS, "track")
        written = PolicySpec.parse(text)
        example = Problem([0.2, 0.5, 0.8], "uniform(0, 100)")
        try:
            policy = RunSpec(example, written, 20_000, prior=TRACKS[track]).prepared[1]
        except InvalidInput as refusal:
            raise InvalidInput(f"{text} cannot enter the track {track!r}: {refusal}") from None
        if not isinstance(policy, AttributedPolicy):
            conformance.check(policy)
        index = getattr(policy, "index", getattr(policy, "base", ""))
        return cls(written, track, _source_of(written.owner), str(index))

    @property
    def prior(self) -> tuple[str, ...]:
        """The names of what the policy is given of the delay."""
        return TRACKS[self.track]

    @property
    def digest(self) -> str:
        """Of the source: another version of the policy has another one."""
        return hashlib.sha256(json.dumps(self.source, sort_keys=True).encode()).hexdigest()

    def test_seed(self, suite: Suite) -> int:
        """The seed of its runs; a policy that was tuned on it has another one."""
        text = f"{self.digest}/{suite.digest}"
        return int(hashlib.sha256(text.encode()).hexdigest()[:12], 16)

    def can_play(self, cell: Cell) -> bool:
        """Whether the cell has what the track gives, and feedback that the policy can see."""
        if self.policy.sees == "attributed" and cell.problem.changes:
            return False
        known = knowledge(cell.problem, cell.horizon)
        # A distribution says its bound and its variance, where it has them.
        needed = ("mean_delay",) if "delay" in self.prior else self.prior
        values = [known[name] for name in needed]
        return all(value is not None and math.isfinite(value) for value in values)


def _source_of(policy: type) -> dict[str, str]:
    """The files of the package that the class is in, or its one file."""
    top = importlib.import_module(policy.__module__.partition(".")[0])
    if top.__file__ is None:
        raise InvalidInput(f"{policy.__module__} has no file: its source cannot be recorded.")
    file = Path(top.__file__)
    if file.name != "__init__.py":
        return {file.name: file.read_text("utf-8")}
    root = file.parent.parent
    paths = sorted(file.parent.rglob("*.py"))
    return {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in paths}
