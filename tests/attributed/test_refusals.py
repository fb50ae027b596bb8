"""What is refused or warned about, in a sentence."""

import subprocess
import sys

import numpy as np
import pytest

from latesum._checks import InvalidInput
from latesum.attributed import DUCB, KLDUCB, QPMD, SDB, ImprovedUCB, run
from latesum.simulation import Problem

PROBLEM = Problem([0.5, 0.6], "uniform(0, 100)")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: QPMD("ucb2", 2), "there is no base 'ucb2'; did you mean 'ucb1'"),
        (lambda: QPMD("ucb1", 1), "n_arms must be a whole number of at least 2"),
        (lambda: QPMD("ucb1", 2, exploration=0), "exploration must be a number above 0"),
        (lambda: QPMD("thompson", 2, exploration=1), "'thompson' has no exploration; only 'ucb1'"),
        (lambda: QPMD("kl-ucb++", 2), "'kl-ucb\\+\\+' needs the horizon"),
        (lambda: SDB("ucb1", 2, heuristic="greed", max_delay=9), "did you mean 'greedy'"),
        (lambda: SDB("ucb1", 2, max_delay=-1), "max_delay must be a whole number of at least 0"),
        (lambda: DUCB("half_normal(40, 5)", 2), "\\(40, 5\\) that is 0 for the first 41"),
        (lambda: KLDUCB("constant(5)", 2), "constant\\(5\\) that is 0 for the first 5 rounds"),
        (lambda: DUCB("poisson(1000)", 2), "0 for the first 200 rounds; use QPMD"),
        (lambda: DUCB("uniform(0, 3000000)", 2), "at most 2097152 lags"),
        (lambda: DUCB("uniform(0, 9)", 2, epsilon=-1), "epsilon must be"),
        (lambda: DUCB(["uniform(0, 9)"] * 3, 2), "one for each of the 2, not 3"),
    ],
)
def test_wrong_parameters_are_refused(make, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        make()


@pytest.mark.parametrize(
    "delay", ["uniform(0, 9)", "exponential(50)", "poisson(50)", "constant(1)", "constant(0)"]
)
def test_delays_that_ducb_can_use(delay):
    problem = Problem([0.5, 0.6], delay)
    _, rounds = run(problem, DUCB(delay, 2), 100, seed_sequence=np.random.SeedSequence(1))
    assert rounds.sum() == 100


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        (QPMD("ucb1", 3), "made for 3 arms and the problem has 2"),
        (SDB("ucb1", 2, max_delay=99), "reaches 100; give it max_delay=100 or more"),
        (ImprovedUCB(2, horizon=100), "undelayed rewards, and these come with uniform\\(0, 100\\)"),
    ],
)
def test_policies_that_do_not_fit_the_problem_are_refused(policy, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        run(PROBLEM, policy, 100, seed_sequence=np.random.SeedSequence(1))


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        (SDB("ucb1", 2, max_delay=99), "poisson\\(9\\) has none"),
        (
            DUCB("poisson(10)", 2),
            "given the delay poisson\\(10\\) and that of arm 0 is poisson\\(9\\)",
        ),
    ],
)
def test_wrong_knowledge_of_the_delay_is_warned_about(policy, sentence):
    problem = Problem([0.5, 0.6], "poisson(9)")
    with pytest.warns(UserWarning, match=sentence):
        run(problem, policy, 100, seed_sequence=np.random.SeedSequence(1))


def test_importing_the_package_does_not_load_numba():
    code = "import sys, latesum.attributed; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
