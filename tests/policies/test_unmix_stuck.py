"""Runs in which a form of Unmix stayed with a worse arm forever: they end on a good one.

They are runs of `python studies/safety.py --law wide`; each has its cause in its name.
"""

from dataclasses import replace

import pytest

from latesum.experiments.run import possibly_stuck
from latesum.policies import PolicySpec
from safety import HARMFUL_SHARE, WIDE_HORIZON, WideSpec

#: The seed, the number of the run, and the factor on the mean delay that is given (None: nothing).
RUNS = {
    "half at once, half twice the mean later: the fit rested in a wrong place": (1, 1429, 1.0),
    "the same, in buckets": (1, 1713, 1.0),
    "given half of the mean: the first arm seemed to earn little": (1, 16, 0.5),
    "given nothing: the silence at the start seemed to be arms that earn nothing": (2, 424, None),
    "half at once, half twice the mean later: the first arm seemed to earn half": (4, 515, 1.0),
    "the same, in buckets: what was seen after the doubt did not fit": (11, 1480, 1.0),
    "given half: what comes twenty times as late as given was missing": (5, 13, 0.5),
    "given half: the first arm was left after half of a delay": (5, 49, 0.5),
    "given half: the first of eleven arms was left after a delay": (5, 830, 0.5),
    "given half: the first arm seemed worse by any explanation": (22, 752, 0.5),
    "given half: an arm was left before most of its rewards had come, 918": (32, 918, 0.5),
    "given half: an arm was left before most of its rewards had come, 1135": (32, 1135, 0.5),
    "given half: an arm was left before most of its rewards had come, 1478": (32, 1478, 0.5),
    "nothing given: arms were left before the second half came, 53": (34, 53, None),
    "nothing given: arms were left before the second half came, 231": (34, 231, None),
    "nothing given: half at once, and the truth is unlikely at first": (44, 182, None),
    "a twentieth comes ten times later": (61, 6674, 1.0),
}
#: Nine to twelve arms and 2,000 rounds: a long visit to an arm that is worse by 0.02 or 0.03.
LONG_VISITS = [
    (1, 181, 1.0),
    (21, 748, 1.0),
    (21, 1764, 1.0),
    (23, 88, 2.0),
    (101, 2981, 1.0),
    (102, 3924, 1.0),
]


def _play(seed, number, given):
    """The run as it was made, with Unmix."""
    policy = PolicySpec("unmix", {"delay": None} | ({"mean_delay": None} if given is None else {}))
    factor = {} if given in (None, 1.0) else {"mean_delay": given}
    spec = WideSpec("safety:wide_problem", policy, WIDE_HORIZON, seed=seed, given=factor)
    drawn = spec.drawn(number)
    # What was seen in the problems of seed 32 came from another seed.
    return (replace(drawn, seed=78) if seed == 32 else drawn).run(number)


@pytest.mark.parametrize("name", RUNS)
def test_it_comes_back_to_a_good_arm(name):
    assert not possibly_stuck(_play(*RUNS[name]), share=HARMFUL_SHARE)


@pytest.mark.parametrize("run", LONG_VISITS, ids=lambda run: f"{run[0]}-{run[1]}")
def test_a_long_visit_to_the_second_best_arm_ends(run):
    """By 30 horizons, and by 10 where that horizon is known from the start."""
    played = _play(*run)
    spec, horizon = played.spec, played.horizon
    longer = replace(spec, horizon=10 * horizon, checkpoints=())
    for again in (spec.run(played.number, until=30 * horizon), longer.run(played.number)):
        assert not possibly_stuck(again, share=HARMFUL_SHARE)
