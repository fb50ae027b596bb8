"""The policies that a plan tries, told what the user believes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

from latesum._checks import InvalidInput
from latesum._plugins import POLICIES
from latesum.planning.beliefs import Beliefs
from latesum.policies import Policy
from latesum.policies.spec import PolicySpec

#: `switchback` as a policy of one stream, which every problem can be played with.
_STREAM = "latesum.experiments.markets.one_stream:Switchback"
#: It is tried where the run has this many buckets; with more it takes too long to simulate, ...
_SWITCHBACK_BUCKETS = (28, 200)
#: About what a run costs in milliseconds of one core, and how much more for each of its buckets. This is declared, not measured while a
#: plan is made, so that a plan has the same runs on any machine.
_COSTS = {
    _STREAM: (0.0, 0.6), "unmix": (8.0, 0.06), "unmix-untold": (0.0, 2.0), "flow": (1.0, 0.04),
    "odaaf": (3.0, 0.0), "odaaf-b": (3.0, 0.0), "odaaf-v": (3.0, 0.0), "fixed-split": (2.5, 0.0), "round-robin": (2.5, 0.0),
}  # fmt: skip
#: Of any other: the world alone costs this much if a decision is taken in every bucket.
_OTHERS_COST = (0.0, 0.1)


class Candidate(NamedTuple):
    """A policy with its parameters, and what to call it."""

    label: str
    spec: PolicySpec
    about: str
    #: What a campaign is set up with, where that is not the policy itself.
    in_campaign: tuple[str, dict[str, Any]] | None = None

    @property
    def handed_on(self) -> dict[str, Any]:
        """The policy and its parameters as a campaign takes them."""
        policy, parameters = self.in_campaign or (self.spec.name, self.spec.parameters)
        return {"policy": policy, "parameters": dict(parameters)}

    def milliseconds(self, buckets: int) -> float:
        """About what a run of this number of buckets costs."""
        once, per_bucket = _COSTS.get(self.spec.name, _OTHERS_COST)
        return once + per_bucket * buckets

    def build(self) -> Policy:
        """The policy itself."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a short phase breaks, the simulation shows
            policy: Policy = self.spec.build()
        return policy


#: With more buckets than this, policies that decide in nearly every one take too long to simulate.
MOST_DECISIONS = 200
#: The name of the candidate that splits evenly and never decides.
EQUAL_SPLIT = "equal split"


def candidates_for(beliefs: Beliefs) -> list[Candidate]:
    """All policies worth trying, the equal split last.

    >>> from latesum.planning.beliefs import read_beliefs
    >>> beliefs = read_beliefs(options=2, rate=0.02, lift="10%", traffic="2400 per day",
    ...                        late="2 days", run_for="12 weeks")
    >>> [candidate.label for candidate in candidates_for(beliefs)][-2:]
    ['half test', 'equal split']
    """
    options, horizon = beliefs.options, beliefs.horizon
    delay = beliefs.delay()
    told: dict[str, Any] = {
        "n_arms": options, "horizon": horizon, "mean_delay": _rounded(delay.mean),
    }  # fmt: skip
    about = "optimistic; learns the means and the delay together"
    found = [("unmix", "unmix", told, about)]
    if delay.bound is not None:
        about = "the paper's phases, knowing the mean and the bound of the delay"
        found.append(("odaaf-b", "odaaf-b", {**told, "delay_bound": delay.bound}, about))
    else:
        found.append(("odaaf", "odaaf", told, "the paper's phases, knowing the mean delay"))
    if beliefs.buckets <= MOST_DECISIONS:
        about = "optimistic; knows nothing of the delay"
        found.append(("ars-ucb", "ars-ucb", {"n_arms": options}, about))
    for label, share in (("quarter test", 0.25), ("half test", 0.5)):
        buckets = max(round(beliefs.buckets * share / options), 1) * options
        if buckets < beliefs.buckets:
            parameters = {"n_arms": options, "horizon": buckets * beliefs.bucket_rounds}
            about = f"each option once in the first {share:.0%} of the run, then the best"
            found.append((label, "fixed-split", parameters, about))
    about = "each option for its share of the whole run; the best is known at the end"
    found.append((EQUAL_SPLIT, "fixed-split", {"n_arms": options, "horizon": horizon}, about))
    made = [Candidate(label, PolicySpec(name, told), about) for label, name, told, about in found]
    if (switchback := _switchback(beliefs)) is not None:
        made.insert(1, switchback)
    return made


def _switchback(beliefs: Beliefs) -> Candidate | None:
    """The model of markets on one stream; it takes the options' effects to stay as they are."""
    least, most = _SWITCHBACK_BUCKETS
    if not least <= beliefs.buckets <= most or beliefs.bucket == "hour":
        return None
    if beliefs.changing or not beliefs.is_rate:  # of one amount it is not told how far it varies
        return None
    rounds, mean = beliefs.bucket_rounds, beliefs.delay().mean
    told: dict[str, Any] = {
        "n_arms": beliefs.options, "horizon": beliefs.horizon, "mean_delay": _rounded(mean),
        "bucket": rounds, "pattern": "weekday" if beliefs.bucket == "day" else "none",
    }  # fmt: skip
    campaign = {
        "n_arms": beliefs.options, "horizon": beliefs.buckets, "mean_delay": _rounded(mean / rounds),
        "sure": "guess",
    }  # fmt: skip
    about = "one model of all buckets, with weekdays, drift of the level and late sales"
    return Candidate("switchback", PolicySpec(_STREAM, told), about, ("switchback", campaign))


def chosen_candidates(beliefs: Beliefs, labels: Sequence[str] | None) -> list[Candidate]:
    """Those of the candidates that are asked for, and other policies, written as text.

    A policy that is no candidate, such as "flow" or "package.module:Class", is told what is
    believed.
    """
    candidates = candidates_for(beliefs)
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
                f"there is no candidate {text!r} here; there are {', '.join(known)}, and any policy "
                "by its name."
            )
        if spec.sees != "totals":
            raise InvalidInput(f"{text} has attributed feedback, and a campaign does not.")
        delay = beliefs.delay()
        told = {
            "n_arms": beliefs.options, "horizon": beliefs.horizon,
            "mean_delay": _rounded(delay.mean), "delay_variance": delay.variance,
            "delay_bound": delay.bound,
        }  # fmt: skip
        chosen.append(Candidate(text, spec.told(told), "as asked for"))
    return chosen


def _rounded(mean: float) -> float:
    """To four figures: a mean delay is not known better than that."""
    if mean <= 0:
        return 0.0
    digits = 3 - math.floor(math.log10(mean))
    return round(mean, digits) if digits > 0 else float(round(mean, digits))
