"""The policies that a plan tries, told what the user believes."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

from latesum.planning.beliefs import Beliefs
from latesum.policies import Policy, registry


class Candidate(NamedTuple):
    """A policy by its name in the registry and its parameters, and what to call it."""

    label: str
    policy: str
    parameters: dict[str, Any]
    about: str

    def build(self) -> Policy:
        """The policy itself."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a short phase breaks, the simulation shows
            return registry.build(self.policy, **self.parameters)


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
    told = {"n_arms": options, "horizon": horizon, "mean_delay": _rounded(delay.mean)}
    about = "optimistic; balances out late rewards of other options"
    found = [Candidate("flow", "flow", told, about)]
    if delay.bound is not None:
        about = "the paper's phases, knowing the mean and the bound of the delay"
        found.append(Candidate("odaaf-b", "odaaf-b", {**told, "delay_bound": delay.bound}, about))
    else:
        found.append(
            Candidate("odaaf", "odaaf", told, "the paper's phases, knowing the mean delay")
        )
    if beliefs.buckets <= MOST_DECISIONS:
        about = "optimistic; knows nothing of the delay"
        found.append(Candidate("ars-ucb", "ars-ucb", {"n_arms": options}, about))
    for label, share in (("quarter test", 0.25), ("half test", 0.5)):
        buckets = max(round(beliefs.buckets * share / options), 1) * options
        if buckets < beliefs.buckets:
            parameters = {"n_arms": options, "horizon": buckets * beliefs.bucket_rounds}
            about = f"each option once in the first {share:.0%} of the run, then the best"
            found.append(Candidate(label, "fixed-split", parameters, about))
    about = "each option for its share of the whole run; the best is known at the end"
    whole = {"n_arms": options, "horizon": horizon}
    found.append(Candidate(EQUAL_SPLIT, "fixed-split", whole, about))
    return found


def _rounded(mean: float) -> float:
    """To four figures: nobody knows a mean delay better."""
    if mean <= 0:
        return 0.0
    digits = 3 - math.floor(math.log10(mean))
    return round(mean, digits) if digits > 0 else float(round(mean, digits))
