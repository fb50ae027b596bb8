"""Runs in which Unmix once stayed with a worse arm for ever: now they end on a good one.

They are runs of `python studies/safety.py --law wide`; each has its cause in its name.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from latesum.experiments.measures import possibly_stuck
from latesum.experiments.spec import RunSpec
from safety import HARMFUL_SHARE

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
ELEVEN_NEAR_ONE = [
    0.9620701609704272, 0.9725080038228602, 0.9220082240684359, 0.9007639246026451, 0.975919751828707,
    0.9489193051618605, 0.9409987305146182, 0.9968323942056576, 0.9412853223048426, 0.9420193292997161,
    0.9188361706870461,
]  # fmt: skip
TOLD_HALF_OF_IT = {"told": {"mean_delay": 0.5}}
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

#: Here the explanation that was kept fitted well, and another one nearly as well: by it an arm that was left early
#: was as good as the one that was played.
IN_DOUBT = {
    "half at once, half twice the mean later: the first arm seemed to earn half": (
        [0.634302169459593, 0.6762500124403923], "mixture((0.5, constant(0)), (0.5, constant(3038)))",
        2_000_000, 4, 515, {},
    ),
    "the same, in buckets: what was seen of it after the doubt did not fit, and was explained anew": (
        [0.787069844358252, 0.7628128874802208], "mixture((0.5, constant(0)), (0.5, constant(3940)))",
        514_877, 11, 1480, {"reports": {"bucket": 11, "lag": 0}},
    ),
    "told half: what comes twenty times as late as told was missing": (
        [0.9583106685826184, 0.9838096498662456], "mixture((0.05, constant(3850)), (0.95, uniform(0, 385)))",
        2_000_000, 5, 13, TOLD_HALF_OF_IT,
    ),
    "told half: the first arm was left after half of a delay": (
        [0.9797793785213044, 0.9071578643386934], "uniform(0, 476)", 2_000_000, 5, 49, TOLD_HALF_OF_IT,
    ),
    "told half: the first of eleven arms was left after a delay": (
        ELEVEN_NEAR_ONE, "exponential(2325)", 2_000_000, 5, 830, TOLD_HALF_OF_IT,
    ),
}  # fmt: skip

#: Here the other explanation said less of the arm, by two standard deviations: 0.47 +- 0.13.
MORE_IN_DOUBT = {
    "told half: the first arm was left after half of a delay, and seemed worse by any explanation": (
        [0.7035959262959005, 0.72938869628167], "uniform(0, 226)", 377_027, 22, 752, TOLD_HALF_OF_IT,
    ),
}  # fmt: skip


def _ends_harmful(name):
    arms, delay, horizon, seed, number, more = {**FOUND, **IN_DOUBT, **MORE_IN_DOUBT}[name]
    told = {"mean_delay": None} if "nothing" in name else {}
    setting = {
        "problem": {"arms": arms, "delay": delay}, "horizon": horizon, "seed": seed,
        "policy": {"name": "unmix", "parameters": {"delay": None, **told}}, **more,
    }  # fmt: skip
    return possibly_stuck(RunSpec.from_json(setting).run(number), share=HARMFUL_SHARE)


@pytest.mark.parametrize("name", [*FOUND, *IN_DOUBT, *MORE_IN_DOUBT])
def test_it_comes_back_to_a_good_arm(name):
    assert not _ends_harmful(name)


#: An arm was left before most of its rewards had come. Then its mean and the delay cannot be told apart: with a longer delay
#: any larger mean explains the same totals, and only the prior of the curve speaks against it.
TOO_FAR = {
    918: ([0.9136989509790074, 0.9737809200477903], "uniform(0, 2160)", 229_104, 1),
    1135: (
        [
            0.3836738713342809, 0.8896844985873159, 0.633706933400899, 0.9244432897344199, 0.7982120417595913,
            0.13223234502120917, 0.9004998627014719, 0.8198889616163455, 0.9778302396087002, 0.4701716495186543,
            0.3601233419604404,
        ], "uniform(0, 7862)", 1_224_138, 1,
    ),
    1478: (
        [
            0.06053906264218705, 0.15658744506149047, 0.5082550557998857, 0.36512306709798703, 0.4496066502069073,
            0.32717969827443544, 0.19679017614480737, 0.46521565401602805, 0.2132431843705226,
        ], "uniform(0, 2416)", 1_999_998, 63,
    ),
}  # fmt: skip
#: Told nothing, half of the rewards at once and half much later, in buckets: arms were left before the second half came.
TOO_FAR_TOLD_NOTHING = {
    53: (
        [
            0.9588901797192906, 0.9263745523589922, 0.9014660226333846, 0.9055220138167506, 0.9116995225783172,
            0.9363886587900471, 0.9825759157730072, 0.9786348792653529, 0.9858252379410303, 0.9064125672192928,
        ], 4458, 1_405_593, 63,
    ),
    231: (
        [0.8749030205076098, 0.8652856699319454, 0.8535384083160267, 0.8665321616679216, 0.8518205658370449],
        732, 1_999_998, 3,
    ),
}  # fmt: skip


def _told_half(number):
    arms, delay, horizon, bucket = TOO_FAR[number]
    setting = {
        "problem": {"arms": arms, "delay": delay}, "horizon": horizon, "seed": 78,
        "reports": {"bucket": bucket, "lag": 0},
        "policy": {"name": "unmix", "parameters": {"delay": None}}, **TOLD_HALF_OF_IT,
    }  # fmt: skip
    return possibly_stuck(RunSpec.from_json(setting).run(number), share=HARMFUL_SHARE)


def _told_nothing(number):
    arms, later, horizon, bucket = TOO_FAR_TOLD_NOTHING[number]
    delay = f"mixture((0.5, constant(0)), (0.5, constant({later})))"
    setting = {
        "problem": {"arms": arms, "delay": delay}, "horizon": horizon, "seed": 34,
        "reports": {"bucket": bucket, "lag": 0},
        "policy": {"name": "unmix", "parameters": {"mean_delay": None, "delay": None}},
    }  # fmt: skip
    return possibly_stuck(RunSpec.from_json(setting).run(number), share=HARMFUL_SHARE)


def _nine_times_as_late():
    """The best arm, nine times as late as another, is left at first."""
    told = {"delay": None, "mean_delay": 87, "delays_differ": 0.3}
    delays = ["exponential(20)", "exponential(60)", "exponential(180)"]
    setting = {
        "problem": {"arms": [0.30, 0.33, 0.36], "delay": delays}, "horizon": 250_000, "seed": 1,
        "order": "drawn", "policy": {"name": "unmix", "parameters": told},
    }  # fmt: skip
    return possibly_stuck(RunSpec.from_json(setting).run(674))


REACHED = [
    *[(_told_half, (number,)) for number in TOO_FAR],
    *[(_told_nothing, (number,)) for number in TOO_FAR_TOLD_NOTHING],
    (_nine_times_as_late, ()),
]


@pytest.mark.parametrize(("ends_harmful", "which"), REACHED)
def test_delays_that_it_would_not_believe_leave_doubt(ends_harmful, which):
    assert not ends_harmful(*which)


def _half_at_once():
    """The delay that says the truth is 35 times the misfit less likely than the one that is believed.

    A visit to another arm in doubt makes it likelier; all of them at once were visited by a delay that was too short.
    """
    arms = [
        0.42989104766811864, 0.09381828207233817, 0.38959039585593747, 0.557150208694918, 0.15919334371815044,
        0.39521439149363374,
    ]  # fmt: skip
    setting = {
        "problem": {"arms": arms, "delay": "mixture((0.5, constant(0)), (0.5, constant(1508)))"},
        "horizon": 902_497, "seed": 44,
        "policy": {"name": "unmix", "parameters": {"mean_delay": None, "delay": None}},
    }  # fmt: skip
    return possibly_stuck(RunSpec.from_json(setting).run(182), share=HARMFUL_SHARE)


def _a_twentieth_ten_times_later():
    """The best arm is visited once; what comes of it 48,190 rounds later is taken for the rewards of others."""
    arms = [
        0.9518690107578478, 0.9072479379265808, 0.9154497236031031, 0.9126206253647937, 0.9223733606293398,
        0.9753036918010561, 0.9487270090826893,
    ]  # fmt: skip
    setting = {
        "problem": {"arms": arms, "delay": "mixture((0.05, constant(48190)), (0.95, uniform(0, 4819)))"},
        "horizon": 2_000_000, "seed": 61,
        "policy": {"name": "unmix", "parameters": {"delay": None}},
    }  # fmt: skip
    return possibly_stuck(RunSpec.from_json(setting).run(6674), share=HARMFUL_SHARE)


def test_arms_in_doubt_are_visited_in_turn_where_nothing_was_told():
    assert not _half_at_once()


def test_one_visit_is_not_enough_for_an_arm_that_seems_nearly_as_good():
    assert not _a_twentieth_ten_times_later()


#: Arms, delay, horizon, seed, run, what it is told of the mean, and the bucket, of runs that still lock in.
LEFT = {
    "told the mean, 2,236 rounds, rates near 0.01": (
        [
            0.010031801493619706, 0.004200911713509559, 0.008166895044029125, 0.011547996122946345, 0.011133035128100379,
            0.010622284034994814, 0.008578723254296676, 0.011602581700861299, 0.01633122552139445, 0.007371739098200253,
        ], "uniform(0, 18)", 2_236, 41, 149, 1.0, 4,
    ),
    "told half, 6,594 rounds, a gap of 0.03": (
        [
            0.4969295021588134, 0.6060797439677631, 0.7206041576058207, 0.048821197217113754, 0.7521209687121109,
            0.3269354126684023, 0.00531410247848052, 0.14276545775330185, 0.38830941149770826, 0.784589217111042,
            0.3628538258893056, 0.36535765462286807,
        ], "poisson(1)", 6_594, 42, 1066, 0.5, 1,
    ),
}  # fmt: skip


@pytest.mark.xfail(strict=True, reason="lock-ins that are left")
@pytest.mark.parametrize("name", LEFT)
def test_lock_ins_that_are_left(name):
    arms, delay, horizon, seed, number, told, bucket = LEFT[name]
    untold = {"mean_delay": None} if told is None else {}
    setting = {
        "problem": {"arms": arms, "delay": delay}, "horizon": horizon, "seed": seed,
        "reports": {"bucket": bucket, "lag": 0},
        "policy": {"name": "unmix", "parameters": {"delay": None, **untold}},
        "told": {"mean_delay": told} if told not in (None, 1.0) else {},
    }  # fmt: skip
    run = RunSpec.from_json(setting).run(number)
    assert not possibly_stuck(run.continued(10 * run.horizon), share=HARMFUL_SHARE)


#: Means, delay, seed, run, what else the setting says, and after how many horizons the last half goes to a good arm, of
#: problems of 2,000 rounds with arms that are worse by 0.02 to 0.03, or rates below 0.05.
LONG_VISITS = [
    (
        [
            0.3661475373408444, 0.0024682502807491405, 0.3963290447208385, 0.15548299681553263, 0.31503511177118904,
            0.14565791510849166, 0.06534727034114311, 0.30935975313995684, 0.3227883023936439, 0.07759686446273822,
        ],
        "mixture((0.05, constant(20)), (0.95, uniform(0, 2)))", 1, 181, {}, 10,
    ),
    (
        [
            0.36162896155522845, 0.33872965916584785, 0.3088599834140988, 0.22990716190704621, 0.519869067073237,
            0.4225313068207263, 0.3988893087408389, 0.006917571072038255, 0.5422396684958742,
        ],
        "negative_binomial(5, 50)", 21, 748, {}, 10,
    ),
    (
        [
            0.5015113565497034, 0.4718281835061177, 0.16135763133682918, 0.30207033689181745, 0.28971995903994224,
            0.4407529694464679, 0.5120357104777946, 0.14329630898069418, 0.023630383713890715, 0.5333943992866894,
            0.23514025346673076, 0.05837436257357303,
        ],
        "uniform(0, 2)", 21, 1764, {}, 1,
    ),
    (
        [
            0.03752368654064943, 0.016553202819271737, 0.006167245702944558, 0.024926607538529794, 0.006545272902475263,
            0.016537839011632652, 0.01259241114511033, 0.01202180122632808, 0.0027471806128686284, 0.013815526075916075,
            0.002842666975519118,
        ],
        "pareto(1.5, 2)", 23, 88, {"reports": {"bucket": 5, "lag": 0}, "told": {"mean_delay": 2.0}}, 10,
    ),
    (
        [
            0.014035158139569223, 0.016396164379442763, 0.010548306428399918, 0.009028764587738682, 0.03864981389328131,
            0.04943829072977339, 0.0035971130447511185, 0.0028379505186544667, 0.00854557976171788,
        ],
        "constant(2)", 101, 2981, {}, 30,
    ),
    (
        [
            0.5813466881175552, 0.6077895473663718, 0.5770932731363232, 0.5777793426278668, 0.5724480549473924,
            0.5808910271984924, 0.6002057053642988, 0.5860541084883102, 0.5870350529834725, 0.5864673920753761,
            0.5733572145831345,
        ],
        "poisson(1)", 102, 3924, {}, 30,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("means", "delay", "seed", "number", "more", "horizons"), LONG_VISITS)
def test_a_long_visit_to_the_second_best_arm_ends(means, delay, seed, number, more, horizons):
    """Nine to twelve arms, 2,000 rounds: it is with an arm that is worse by 0.02 or 0.03 at the end.

    All six stayed there to ten times the horizon by earlier rules. A visit lasts until the arm's data have doubled, and the best arm was
    unlucky before. Where the longer horizon is told from the start, none of them does.
    """
    setting = {
        "problem": {"arms": means, "delay": delay}, "horizon": 2_000, "seed": seed,
        "policy": {"name": "unmix", "parameters": {"delay": None}}, **more,
    }  # fmt: skip
    run = RunSpec.from_json(setting).run(number)
    assert possibly_stuck(run, share=HARMFUL_SHARE) == (horizons > 1)
    longer = run.continued(horizons * run.horizon) if horizons > 1 else run
    assert not possibly_stuck(longer, share=HARMFUL_SHARE)
    assert not possibly_stuck(run.anew(10 * run.horizon), share=HARMFUL_SHARE)


@pytest.mark.slow
def test_lock_ins_of_chance_are_counted():
    """A policy that sees every reward at once has suspects, too, but nearly no lock-ins."""
    script = Path(__file__).parents[2] / "studies" / "chance.py"
    ran = subprocess.run(
        [sys.executable, str(script), "--problems", "2000"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = re.search(r": (\d+) suspects, (\d+) lock-ins", ran.stdout)
    assert found
    # Of 50,000 problems 246 and 4 are so: both limits are passed by chance in fewer than 1 of 1,000 seeds.
    assert 1 <= int(found[1]) <= 25
    assert int(found[2]) <= 3
