"""The policies that a plan tries, each with its parameters for the planned campaign."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from latesum._checks import InvalidInput
from latesum._plugins import POLICIES
from latesum.delays.parsing import text_of
from latesum.planning.inputs import MAX_DECISIONS, PlanInputs
from latesum.policies import Policy, PolicySpec

#: `switchback` as a policy of one stream, which every problem can be played with.
STREAM = "latesum.experiments.markets.one_stream:Switchback"
#: It is tried where the run has this many buckets; with more it takes too long to simulate.
_SWITCHBACK_BUCKETS = (28, 200)
#: About what a run costs in milliseconds of one core, and for each of its buckets. Declared, not
#: measured while a plan is made, so that a plan has the same runs on any machine.
_COSTS = {
    STREAM: (0.0, 0.6),
    "unmix": (8.0, 0.06),
    "unmix-untold": (0.0, 2.0),
    "flow": (1.0, 0.04),
    "odaaf": (3.0, 0.0),
    "odaaf-b": (3.0, 0.0),
    "odaaf-v": (3.0, 0.0),
    "fixed-split": (2.5, 0.0),
    "round-robin": (2.5, 0.0),
}
#: Of any other: the world alone costs this much if a decision is taken in every bucket.
_OTHERS_COST = (0.0, 0.1)
#: The name of the candidate that splits evenly and never decides.
EQUAL_SPLIT = "equal split"


class Candidate(NamedTuple):
    """A policy with its parameters.

    Args:
        label: What it is called in tables.
        spec: The policy as it is simulated.
        about: What it does, in a sentence.
        campaign: What a campaign is set up with: `policy`, `parameters`, and more where needed.
    """

    label: str
    spec: PolicySpec
    about: str
    campaign: Mapping[str, Any]

    @classmethod
    def of(cls, label: str, name: str, parameters: Mapping[str, Any], about: str) -> Candidate:
        """One that a campaign runs as it is simulated."""
        spec = PolicySpec(name, parameters)
        return cls(label, spec, about, {"policy": spec.name, "parameters": dict(spec.parameters)})

    def milliseconds(self, buckets: int) -> float:
        """About what a run of this number of buckets costs."""
        once, per_bucket = _COSTS.get(self.spec.name, _OTHERS_COST)
        return once + per_bucket * buckets

    def build(self, **changes: Any) -> Policy:
        """The policy itself, with some parameters changed."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a short phase breaks, the simulation shows
            spec = PolicySpec(self.spec.name, {**self.spec.parameters, **changes})
            policy: Policy = spec.build()
        return policy


def candidates_for(inputs: PlanInputs) -> list[Candidate]:
    """All policies worth trying, the equal split last.

    >>> from latesum.planning.inputs import read_inputs
    >>> inputs = read_inputs(options=2, rate=0.02, lift="10%", traffic="2400 per day",
    ...                      late="2 days", run_for="12 weeks")
    >>> [candidate.label for candidate in candidates_for(inputs)][-2:]
    ['half test', 'equal split']
    """
    arms, horizon, delay = inputs.options, inputs.horizon, inputs.delay()
    known: dict[str, Any] = {"n_arms": arms, "horizon": horizon}
    mean = {**known, "mean_delay": _rounded(delay.mean)}
    # Where the shape of the delay was given, Unmix is given it too, and so is the campaign.
    whole = {**known, "delay": text_of(delay)}
    about = "optimistic; learns the means and the delay together"
    found = [Candidate.of("unmix", "unmix", mean if inputs.lateness.mean_only else whole, about)]
    if (switchback := _switchback(inputs)) is not None:
        found.append(switchback)
    if delay.bound is not None:
        about = "the paper's phases, knowing the mean and the bound of the delay"
        given = {**mean, "delay_bound": delay.bound}
        found.append(Candidate.of("odaaf-b", "odaaf-b", given, about))
    else:
        about = "the paper's phases, knowing the mean delay"
        found.append(Candidate.of("odaaf", "odaaf", mean, about))
    if inputs.buckets <= MAX_DECISIONS:
        about = "optimistic; knows nothing of the delay"
        found.append(Candidate.of("ars-ucb", "ars-ucb", {"n_arms": arms}, about))
    for label, share in (("quarter test", 0.25), ("half test", 0.5)):
        buckets = max(round(inputs.buckets * share / arms), 1) * arms
        if buckets < inputs.buckets:
            given = {"n_arms": arms, "horizon": buckets * inputs.bucket_rounds}
            about = f"each option once in the first {share:.0%} of the run, then the best"
            found.append(Candidate.of(label, "fixed-split", given, about))
    about = "each option for its share of the whole run; the best is known at the end"
    found.append(Candidate.of(EQUAL_SPLIT, "fixed-split", known, about))
    return found


def _switchback(inputs: PlanInputs) -> Candidate | None:
    """The model of markets on one stream; it takes the options' effects to stay as they are."""
    least, most = _SWITCHBACK_BUCKETS
    if not least <= inputs.buckets <= most or inputs.bucket == "hour":
        return None
    if inputs.nonstationary or not inputs.is_rate:  # how far an amount varies it is not told
        return None
    rounds, mean = inputs.bucket_rounds, inputs.delay().mean
    simulated = {
        "n_arms": inputs.options,
        "horizon": inputs.horizon,
        "mean_delay": _rounded(mean),
        "bucket": rounds,
        "pattern": "weekday" if inputs.bucket == "day" else "none",
    }
    parameters = {
        "n_arms": inputs.options,
        "horizon": inputs.buckets,
        "mean_delay": _rounded(mean / rounds),
        "sure": "guess",
    }
    about = "one model of all buckets, with weekdays, drift of the level and late sales"
    campaign = {"policy": "switchback", "parameters": parameters}
    return Candidate("switchback", PolicySpec(STREAM, simulated), about, campaign)


def chosen_candidates(inputs: PlanInputs, labels: Sequence[str] | None) -> list[Candidate]:
    """Those of the candidates that are asked for, and other policies, written as text.

    A policy that is no candidate, such as "flow" or "package.module:Class", is given the inputs.
    """
    candidates = candidates_for(inputs)
    if labels is None:
        return candidates
    known = {candidate.label: candidate for candidate in candidates}
    chosen = [candidate for candidate in candidates if candidate.label in labels]
    for text in labels:
        if text in known:
            continue
        spec = PolicySpec.parse(text)
        if ":" not in spec.name and spec.name not in POLICIES.names():
            raise InvalidInput(
                f"there is no candidate {text!r} here; there are {', '.join(known)}, and any "
                "policy by its name."
            )
        if spec.sees != "totals":
            raise InvalidInput(f"{text} has attributed feedback, and a campaign does not.")
        delay = inputs.delay()
        given = {
            "n_arms": inputs.options,
            "horizon": inputs.horizon,
            "mean_delay": _rounded(delay.mean),
            "delay_variance": delay.variance,
            "delay_bound": delay.bound,
        }
        spec = spec.given(given)
        chosen.append(Candidate.of(text, spec.name, spec.parameters, "as asked for"))
    return chosen


def _rounded(mean: float) -> float:
    """To four figures: a mean delay is not known better than that."""
    if mean <= 0:
        return 0.0
    digits = 3 - math.floor(math.log10(mean))
    return round(mean, digits) if digits > 0 else float(round(mean, digits))
