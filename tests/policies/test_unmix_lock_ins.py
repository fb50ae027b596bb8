"""Runs in which Unmix once stayed with a worse arm for ever: now they end on a good one.

They are runs of `latesum safety --law wide`; each has its cause in its name.
"""

import pytest

from latesum.lab.measures import suspect
from latesum.lab.setting import Setting
from latesum.lab.studies.safety import HARMFUL_SHARE
from latesum.policies.spec import PolicySpec
from latesum.world import Problem

NEAR_ONE = [0.9124717334258039, 0.9706362981869137, 0.963435904363216, 0.9965433929243288]
THREE_NEAR_ONE = [0.9896117247837369, 0.9530122297234032, 0.9322513194735754]
TOLD_HALF = [
    0.8861932037740019, 0.6658348498284344, 0.607106406440742, 0.22802574955025068,
    0.8296398424937436, 0.26355182995565973,
]  # fmt: skip
NINE_NEAR_ONE = [
    0.9492482008080517, 0.9407834092050152, 0.9914085382602025, 0.9877435354401576, 0.9258079614748298,
    0.9441102282781652, 0.9676556825711518, 0.9020445350043724, 0.9320959957864918,
]  # fmt: skip
#: Arms, delay, horizon, seed, run, and what else its setting says.
FOUND = {
    "half at once, half twice the mean later: the fit rested in a wrong place": (
        NEAR_ONE, "mixture((0.5, constant(0)), (0.5, constant(8940)))", 2_000_000, 1, 1429, {},
    ),
    "the same, in buckets": (
        THREE_NEAR_ONE, "mixture((0.5, constant(0)), (0.5, constant(4266)))", 2_000_000, 1, 1713,
        {"reports": {"bucket": 25, "lag": 0}},
    ),
    "told half of the mean: the first arm seemed to earn little": (
        TOLD_HALF, "uniform(0, 1812)", 187_858, 1, 16, {"told": {"mean_delay": 0.5}},
    ),
    "told nothing: the silence at the start seemed to be arms that earn nothing": (
        NINE_NEAR_ONE, "constant(126)", 1_918_976, 2, 424, {},
    ),
}  # fmt: skip


def _ends_harmful(name, **rule):
    arms, delay, horizon, seed, number, more = FOUND[name]
    told = {"mean_delay": None} if "nothing" in name else {}
    setting = {
        "problem": {"arms": arms, "delay": delay}, "horizon": horizon, "seed": seed,
        "policy": {"name": "unmix", "parameters": {"delay": None, **told, **rule}}, **more,
    }  # fmt: skip
    return suspect(Setting.from_json(setting).run(number), share=HARMFUL_SHARE)


@pytest.mark.parametrize("name", FOUND)
def test_it_comes_back_to_a_good_arm(name):
    assert not _ends_harmful(name)


@pytest.mark.parametrize("name", FOUND)
def test_campaigns_that_began_by_the_earlier_rule_go_on_by_it(name):
    assert _ends_harmful(name, reconsider=False)


def test_a_long_visit_to_the_second_best_arm_ends():
    """Ten arms, 2,000 rounds: it stays to ten times the horizon with an arm that is worse by 0.03.

    Its visit lasts until its data have doubled, and the best arm was unlucky before.
    """
    means = [
        0.3661475373408444, 0.0024682502807491405, 0.3963290447208385, 0.15548299681553263, 0.31503511177118904,
        0.14565791510849166, 0.06534727034114311, 0.30935975313995684, 0.3227883023936439, 0.07759686446273822,
    ]  # fmt: skip
    delay = "mixture((0.05, constant(20)), (0.95, uniform(0, 2)))"
    policy = PolicySpec("unmix", {"delay": None})
    run = Setting(Problem(means, delay), policy, 2_000, seed=1).run(181)
    assert not suspect(run.continued(30 * run.horizon), share=HARMFUL_SHARE)
