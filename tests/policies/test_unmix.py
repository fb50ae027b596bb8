"""Unmix: the kernels against plain NumPy, prior knowledge, intervals, doubts, and its state."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latesum import Problem, compare, simulate
from latesum._checks import InvalidInput
from latesum.delays import parse
from latesum.experiments import RunSpec
from latesum.experiments import run as run_specs
from latesum.policies import PolicySpec, Unmix, build
from latesum.policies.unmix import model, model_kernels
from latesum.policies.unmix.curves import delay_factors, distribution_known, mean_known
from latesum.policies.unmix.explanations import DelayExplanation, Design
from latesum.policies.unmix.report import dispersion
from latesum.policies.unmix.segments import Segments
from latesum.simulation import Beta

#: Arm and rounds of a schedule with short and long visits.
SCHEDULE = ((0, 20), (0, 30), (1, 25), (1, 7), (0, 40), (1, 60), (0, 5))
GUESS = mean_known(12.0, 0.5, 2, atom=0.2)
CURVES = {
    "mean": mean_known(12.0, 0.1, 2),
    "guess": GUESS,
    "own delays": GUESS._replace(laws=np.array([0, delay_factors().index(2.0)])),
    "distribution": distribution_known((parse("uniform(1, 40)"),) * 2),
    "one per arm": distribution_known((parse("constant(7)"), parse("uniform(1, 25)"))),
}


def _segments(schedule, totals=None, status_quo=None):
    segments = Segments(2, status_quo)
    for place, (arm, rounds) in enumerate(schedule):
        segments.add(arm, rounds, None if totals is None else float(totals[place]))
    return segments


def _arrivals(segments, curve):
    """What the kernels say: A, and p as a matrix of all segments."""
    design, count, n_arms = Design(curve), segments.count, segments.n_arms
    for law in set(curve.laws.tolist()):
        design.fill(segments, law)
    plays = np.stack(
        [design.arrivals[law, :count, arm] for arm, law in enumerate(curve.laws)], axis=2
    )
    shares = np.zeros((count, plays.shape[1], count))
    for s, arm in enumerate(segments.table[:, 2].astype(int)):
        for k in range(min(model_kernels.BAND, count - s)):
            shares[s, :, s + k] = design.arrivals[curve.laws[arm], s, n_arms + k]
    return plays, shares


@pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES)
@pytest.mark.parametrize("status_quo", [None, 1])
def test_the_kernels_count_the_plays_that_arrive_as_the_formulas_do(curve, status_quo):
    segments = _segments(SCHEDULE[:6], status_quo=status_quo)
    plays, shares = model.plays_arriving(segments, curve)
    found = _arrivals(segments, curve)
    assert found[0] == pytest.approx(plays, abs=1e-9)
    assert found[1] == pytest.approx(shares, abs=1e-9)


def test_the_formulas_count_the_plays_that_arrive_play_by_play():
    delay = parse("uniform(1, 40)")
    plays, _ = model.plays_arriving(_segments(SCHEDULE), CURVES["distribution"])
    ends = np.cumsum([rounds for _, rounds in SCHEDULE])
    landed = np.zeros((len(SCHEDULE), 2))
    time = 0
    for arm, rounds in SCHEDULE:
        for _ in range(rounds):
            before = 0.0
            for row, end in enumerate(ends):
                if end > time:
                    reached = float(delay.cdf(int(end - 1 - time)))
                    landed[row, arm] += reached - before
                    before = reached
            time += 1
    assert plays[:, 0] == pytest.approx(landed, abs=0.02)


@pytest.mark.parametrize("curve", ["mean", "distribution"])
def test_a_step_of_the_kernels_is_that_of_the_formulas(curve):
    """Point, variances and likelihood; all shares are within the band of the kernels."""
    curve = CURVES[curve]
    schedule = [(arm, 60) for arm in (0, 1, 0, 0, 1, 1)]
    segments = _segments(schedule, np.random.default_rng(5).binomial(60, 0.5, len(schedule)))
    explanation = DelayExplanation(12.0, 0.0, curve)
    explanation.point[explanation.n_bins :] = 0.45, 0.55
    expected = model.step(segments, curve, explanation.point.copy())
    assert expected.point.min() > 0, "choose another seed: here a bin would be left out"
    explanation.refine(segments)
    assert explanation.point == pytest.approx(expected.point, rel=1e-6)
    assert explanation.variances == pytest.approx(expected.variances, rel=1e-4)
    assert explanation.objective == pytest.approx(expected.objective, rel=1e-6)


def test_with_one_mean_held_the_others_are_fitted_around_it():
    """The held mean is kept; at the fitted value the likelihood is that of the fit, else worse."""
    totals = [8, 12, 16, 5, 15, 30, 3]
    segments, explanation = _segments(SCHEDULE, totals), DelayExplanation(12.0, 0.0, CURVES["mean"])
    explanation.refine(segments, 30)
    for value, least in ((explanation.means[1], -1e-6), (0.9, 1.0), (0.1, 1.0)):
        point = explanation.point.copy()
        objective, *_ = explanation.fit(segments, 30, point, (1, value))
        assert point[explanation.n_bins + 1] == pytest.approx(value, abs=1e-6)
        assert objective >= explanation.objective + least
        if least < 0:
            assert objective == pytest.approx(explanation.objective, abs=1e-3)


@pytest.mark.parametrize("kind", ["bernoulli", "beta", "constant"])
def test_variances_are_right_for_bernoulli_and_an_upper_bound_for_other_rewards(kind):
    """400 fixed schedules; the limits of the ratio are 5 standard errors away (error rate 1e-6)."""
    rewards = {
        "bernoulli": [0.4, 0.6],
        "beta": ["beta(2, 3)", "beta(3, 2)"],
        "constant": ["beta(400, 600)", "beta(600, 400)"],
    }[kind]
    problem = Problem(rewards, "uniform(1, 80)")
    schedule = [(arm, 40) for arm in (0, 1, 0, 1, 1, 0) for _ in range(4)]
    curve = distribution_known((problem.delays[0],) * 2)
    scores = []
    for run in range(400):
        world = problem.start(rng=np.random.default_rng([7, run]))
        segments = _segments(schedule, [world.play(arm, rounds) for arm, rounds in schedule])
        explanation = DelayExplanation(40.0, 0.0, curve)
        explanation.refit(segments)
        scores.append((np.array(explanation.means) - [0.4, 0.6]) / np.sqrt(explanation.variances))
    ratio = np.var(scores)
    assert ratio < 1.25
    if kind == "bernoulli":
        assert ratio > 0.75


def test_prior_knowledge_is_nothing_the_mean_the_distribution_or_one_per_arm():
    assert Unmix(2, 1000).ask().rounds == 8
    assert Unmix(2, 1000, mean_delay=20).ask().rounds == 20
    several = Unmix(2, 1000, delay=["constant(30)", "exponential(5)"])
    assert several.parameters["delay"] == ["constant(30)", "exponential(5)"]
    assert Unmix(2, 1000, delay="constant(30)").parameters["delay"] == "constant(30)"
    assert build("unmix-unknown-delay", n_arms=2, horizon=1000).mean_delay is None


def test_a_simulation_gives_the_mean_unless_the_distribution_is_written():
    known = {"n_arms": 2, "horizon": 1000, "mean_delay": 9.0, "delay": ["constant(9)"] * 2}
    for text, mean in (
        ("unmix", 9),
        ("unmix(delay=None)", 9),
        ("unmix(delay='constant(5)')", None),
        ("unmix-unknown-delay", None),
        ("unmix(mean_delay=4)", 4),
    ):
        assert PolicySpec.parse(text).given(known).build().mean_delay == mean


@pytest.mark.parametrize(
    ("prior", "sentence"),
    [
        ({"mean_delay": 5, "delay": "constant(5)"}, "either the mean_delay or the whole delay"),
        ({"delay": ["constant(5)"] * 3}, "one for each of the 2, not 3"),
        ({"uncertainty": 0.3}, "give Unmix both"),
        ({"mean_delay": -1}, "the mean delay"),
        ({"mean_delay": 5, "status_quo": 7}, "cannot have run before"),
    ],
)
def test_what_it_cannot_use_is_refused(prior, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        Unmix(2, 1000, **prior)


def test_the_learned_delay_is_near_the_true_one_where_the_given_mean_is_half_of_it():
    problem = Problem([0.3, 0.5, 0.7], "exponential(100)")
    policy = Unmix(3, 100_000, mean_delay=50, rng=np.random.default_rng(3))
    run = simulate(problem, policy, 100_000, seed=3)
    assert 70 < run.policy.explanations.believed.mean_delay < 130


def test_it_explains_itself():
    policy = Unmix(2, 10_000, mean_delay=50, status_quo="other", rng=np.random.default_rng(1))
    assert policy._reason() == "because it has not been tried yet"
    for total in (20, 25, 26, 24, 25, 30, 31):
        asked = policy.ask()
        policy.tell(asked.arm, asked.segment, float(total), number=asked.number)
    said = " ".join(policy.explain())
    assert "Rewards are about" in said
    assert "(given: 50 rounds)" in said
    assert "The status quo had a mean of about" in said
    assert "observations without delay" in said
    unknown = Unmix(2, 10_000)
    assert unknown._reason() == "to see how late its rewards come, because nothing is known yet"
    assert "Nothing is known of the delay yet" in unknown.explain()[0]


def test_totals_that_no_distribution_explains_widen_the_intervals_and_it_says_so():
    calm, wild = (
        Unmix(2, 100_000, mean_delay=2_000, rng=np.random.default_rng(0)) for _ in range(2)
    )
    for place in range(60):
        for policy, swing in ((calm, 0), (wild, 180)):
            asked = policy.ask()
            total = 0.5 * 400 + (swing if place % 2 else -swing)
            policy.tell(asked.arm, 400, total, number=asked.number)
    assert any("times as much as rewards and delays" in line for line in wild.explain())
    width = [max(row.high - row.low for row in policy.estimates()) for policy in (calm, wild)]
    assert width[1] > 2 * width[0]


@settings(max_examples=20, deadline=None)
@given(
    plays=st.lists(
        st.tuples(
            st.integers(0, 2),
            st.integers(1, 10**6),
            st.none() | st.floats(-1e7, 1e7, allow_nan=False),
        ),
        min_size=1,
        max_size=25,
    ),
    prior=st.sampled_from(
        [
            {"mean_delay": 0.0},
            {"mean_delay": 300.0},
            {"delay": "pareto(1.5, 20)"},
            {},
            {"mean_delay": 9.0, "status_quo": "other"},
        ]
    ),
)
def test_whatever_the_totals_it_decides_and_its_numbers_are_finite(plays, prior):
    policy = Unmix(3, 50_000, **prior)
    for arm, rounds, total in plays:
        policy.tell(arm, rounds, total)
        assert 1 <= policy.ask().rounds <= 10**8
    for row in policy.estimates():
        assert 0 <= row.low <= (0.5 if row.mean is None else row.mean) <= row.high <= 1
    assert all("nan" not in line for line in policy.explain())


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("unmix", 92),
        pytest.param("unmix-unknown-delay", 108, marks=pytest.mark.slow),
        ("unmix(delay='exponential(50)')", 75),
        ("unmix(delay='constant(50)')", 60),
    ],
)
def test_its_regret_on_two_arms(name, most):
    """Means are 80, 94, 59 and 45, standard errors here below 5: error rate 1e-2."""
    delay = "constant(50)" if "constant" in name else "exponential(50)"
    result = compare(Problem([0.5, 0.6], delay), {name: name}, 250_000, replications=60, seed=11)
    assert np.mean(result[name].regrets[:, -1]) < most


#: What comes much later than most of the rest, near a mean of 1; two-point delays whose first half
#: says nothing; and a share of 30% that is spread over 20 times the rest.
HARD = [
    (
        [0.967, 0.9996, 0.953, 0.977],
        "mixture((0.05, constant(891)), (0.95, uniform(0, 94)))",
        200_000,
    ),
    ([0.94, 0.989, 0.957], "mixture((0.5, constant(48)), (0.5, constant(337)))", 200_000),
    ([0.5, 0.6], "exponential(500)", 250_000),
    ([0.5, 0.6], "mixture((0.7, constant(0)), (0.3, uniform(0, 1000)))", 250_000),
]


@pytest.mark.parametrize(("means", "delay", "horizon"), HARD)
@pytest.mark.parametrize("name", ["unmix", "unmix-unknown-delay"])
def test_it_does_not_get_stuck(name, means, delay, horizon):
    """No run may lose as much as an arm that is harmful in half of the rounds."""
    result = compare(Problem(means, delay), {name: name}, horizon, replications=5, seed=5)
    gap = max(means) - sorted(means)[-2]
    assert np.max(result[name].regrets[:, -1]) < max(gap, 0.02) * horizon / 2


@pytest.mark.parametrize(
    ("policy", "runs"),
    [
        ("unmix(delay='exponential(50)')", 30),
        pytest.param("unmix", 60, marks=pytest.mark.slow),
        pytest.param("unmix-unknown-delay", 60, marks=pytest.mark.slow),
    ],
)
def test_its_intervals_contain_the_mean_about_as_often_as_stated(policy, runs):
    """Misses of 95% intervals on two problems are between 1% and 7% (error rate 1e-2)."""
    measure = "missed(levels=[0.95])"
    specs = [
        RunSpec(
            Problem(means, "exponential(50)"),
            PolicySpec.parse(policy),
            250_000,
            seed=3,
            measures=(measure,),
        )
        for means in ([0.5, 0.6], [0.1 + 0.8 * arm / 9 for arm in range(10)])
    ]
    missed = [np.nanmean(rows[measure]) for rows in run_specs(specs, runs).rows]
    assert 0.01 < np.mean(missed) < 0.07


def test_with_nothing_known_its_limits_contain_the_means_by_every_likely_explanation():
    """Half of the rewards at once and half later, after a 64th of the horizon."""
    spec = RunSpec(
        Problem([0.5, 0.6], "mixture((0.5, constant(0)), (0.5, constant(100)))"),
        PolicySpec.parse("unmix-unknown-delay"),
        250_000,
        seed=77,
    )
    (policy,) = spec.run(8).policies_after([3907])
    before = policy.to_state()
    refined = policy.copy()
    explanations = refined.explanations
    explanations.look(refined.segments)
    costs = [each.cost - each.base.penalty for each in explanations.all]
    likely = [
        each
        for each, cost in zip(explanations.all, costs, strict=True)
        if each.deficit <= 100 and cost < min(costs) + 2.0
    ]
    for row in policy.estimates():
        assert row.low <= min(each.mean(row.arm) for each in likely)
        assert row.high >= max(each.mean(row.arm) for each in likely)
    assert policy.to_state() == before


def test_past_its_horizon_and_without_one_it_goes_on():
    for horizon in (200, None):
        policy = Unmix(2, horizon, mean_delay=5)
        run = simulate(Problem([0.2, 0.8], "constant(5)"), policy, 5000, seed=2)
        assert math.isfinite(run.regret())
        assert run.plays[-1].arm == 1


@pytest.mark.parametrize(
    ("rewards", "least", "most"),
    [
        ([0.4, 0.5], 0.7, 1.0),
        ([0.01, 0.02], 0.7, 1.0),
        ([Beta(2, 3), Beta(3, 3)], 0.1, 0.45),
        ([Beta(4000, 6000), Beta(5000, 5000)], 0.01, 0.15),  # nearly constant
    ],
)
def test_it_learns_how_much_rewards_vary(rewards, least, most):
    """rho is 1 for 0/1 rewards, also rare ones, 1/6 and 1/7 for the Betas, 0 for constants."""
    found = []
    for seed in range(1, 6):
        policy = Unmix(2, 250_000, delay="constant(50)")
        learned = simulate(Problem(rewards, "constant(50)"), policy, 250_000, seed=seed).policy
        found.append(dispersion(learned.explanations.believed, learned.segments))
    assert least <= np.median(found) <= most


def test_intervals_are_narrower_where_rewards_vary_less():
    """The same means: 0/1 rewards, and Beta(12, 8), which vary by a twenty-first of that."""
    widths = []
    for reward in (0.6, Beta(12, 8)):
        policy = Unmix(2, 250_000, delay="exponential(50)")
        problem = Problem([0.2, reward], "exponential(50)")
        best = simulate(problem, policy, 250_000, seed=3).policy.estimates()[1]
        assert best.low < 0.6 < best.high
        widths.append(best.high - best.low)
    assert widths[1] < 0.75 * widths[0]


@pytest.mark.parametrize("given", [1.0, 0.5])
def test_the_best_arm_is_found_though_its_rewards_come_later(given):
    """Nine times as late as those of the worst arm; given the longest mean, or half of it."""
    delays = ["exponential(20)", "exponential(60)", "exponential(180)"]
    spec = RunSpec(
        Problem([0.30, 0.33, 0.36], delays),
        PolicySpec.parse("unmix"),
        250_000,
        seed=7,
        given={} if given == 1.0 else {"mean_delay": given},
    )
    runs = [spec.run(number) for number in range(4)]
    assert all(run.plays[-1].arm == 2 for run in runs)
    assert any(set(run.policy.explanations.believed.ratios) != {1.0} for run in runs)


def _with_an_arm_in_doubt():
    for seed in range(20):
        world = Problem([0.5, 0.6], "exponential(500)").start(rng=np.random.default_rng(seed))
        policy = Unmix(2, 250_000, mean_delay=500, rng=np.random.default_rng(seed))
        while policy.rounds_played < 50_000:
            asked = policy.ask()
            policy.tell(asked.arm, asked.segment, world.play(asked.arm, asked.segment))
            if policy.explanations.tested is not None:
                return policy
    raise AssertionError("no arm came into doubt")


def test_an_arm_in_doubt_is_visited_again_and_the_explanation_is_named():
    policy = _with_an_arm_in_doubt()
    asked = policy.ask()
    estimates = policy.estimates()
    assert estimates[asked.arm].mean < estimates[1 - asked.arm].mean
    assert policy._reason().startswith("because it may be as good as the best one if rewards are")
    saved = json.loads(json.dumps(policy.to_state()))
    for same in (policy.copy(), Unmix.from_state(saved)):
        assert same._reason() == policy._reason()
        for _ in range(9):  # nothing, and again nothing: the doubt ends
            same.tell(asked.arm, asked.rounds, 0.0)
        assert same.ask().arm == 1 - asked.arm


def test_a_copy_decides_as_the_original_when_an_arm_is_taken_away():
    """Before it has learned anything more: what arrived is not copied, and counted again."""
    world = Problem([0.5, 0.55, 0.6], "exponential(100)").start(rng=np.random.default_rng(2))
    policy = Unmix(3, 50_000, mean_delay=100, rng=np.random.default_rng(2))
    while policy.rounds_played < 10_000:
        asked = policy.ask()
        policy.tell(asked.arm, asked.segment, world.play(asked.arm, asked.segment))
        one, other = policy.copy(), policy.copy()
        one.estimates()  # counts what arrived
        for each in (one, other):
            each.drop(asked.arm)
        assert one.ask() == other.ask()


def _played_while_totals_are_missing(missing):
    """Rounds of each of three arms; totals of the first visits to arm 1, the best, are missing."""
    world = Problem([0.3, 0.6, 0.5], "exponential(20)").start(rng=np.random.default_rng(5))
    policy = Unmix(3, 40_000, mean_delay=20, rng=np.random.default_rng(5))
    rounds, visits, last = [0, 0, 0], 0, None
    while sum(rounds) < 40_000:
        asked = policy.ask()
        part = min(asked.rounds, asked.segment or asked.rounds)
        total = world.play(asked.arm, part)
        visits += asked.arm == 1 and last != 1
        last = asked.arm
        policy.tell(last, part, None if last == 1 and visits <= missing else total)
        rounds[asked.arm] += part
    return rounds


def test_an_arm_whose_totals_are_all_missing_is_visited_again():
    assert _played_while_totals_are_missing(1)[1] > 35_000


def test_an_arm_whose_totals_never_come_does_not_take_much():
    unseen = _played_while_totals_are_missing(10**9)
    assert 1_000 < unseen[1] < 6_000
    assert unseen[2] > 30_000
