"""One program runs with Optuna's study and with ours, and ours decides as its policy does."""

import numpy as np
import optuna
import pytest

from latesum import ODAAF, Flow, InvalidInput, Problem
from latesum.adapters import AskTell

OPTIONS = ["red", "blue"]


def _optuna():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.RandomSampler(seed=1)
    return optuna.create_study(direction="maximize", sampler=sampler)


def _ours():
    return AskTell(Flow(2, mean_delay=5, names=OPTIONS), rounds=100)


@pytest.fixture(params=[_optuna, _ours], ids=["optuna", "latesum"])
def study(request):
    return request.param()


def test_one_program_for_both(study):
    means = {"red": 20.0, "blue": 70.0}
    for _ in range(20):
        trial = study.ask()
        option = trial.suggest_categorical("option", OPTIONS)
        study.tell(trial, means[option])
    assert [trial.number for trial in study.trials] == list(range(20))
    assert study.best_params == {"option": "blue"}
    assert {trial.params["option"] for trial in study.trials} == {"red", "blue"}


def test_a_number_is_as_good_as_a_trial_and_late_is_fine(study):
    first, second = study.ask(), study.ask()
    for trial in (first, second):
        trial.suggest_categorical("option", OPTIONS)
    study.tell(second.number, 30.0)
    study.tell(first, 40.0)
    assert [trial.value for trial in study.trials] == [40.0, 30.0]


def test_told_twice_is_refused_unless_it_is_to_be_skipped(study):
    trial = study.ask()
    trial.suggest_categorical("option", OPTIONS)
    study.tell(trial, 30.0)
    with pytest.raises(ValueError, match=r"tell a COMPLETE trial|was told already"):
        study.tell(trial, 31.0)
    study.tell(trial, 31.0, skip_if_finished=True)
    assert study.trials[0].value == 30.0


def test_optunas_states_are_understood(study):
    trial = study.ask()
    trial.suggest_categorical("option", OPTIONS)
    study.tell(trial, state=optuna.trial.TrialState.FAIL)
    state = study.trials[0].state
    assert getattr(state, "name", state) == "FAIL"


def test_it_decides_as_the_policy_itself():
    problem = Problem([0.4, 0.6], "uniform(0, 20)")
    policy = ODAAF(2, 20_000, mean_delay=10)
    world = problem.start(rng=np.random.default_rng(1))
    alone = problem.start(rng=np.random.default_rng(1))
    study, by_hand = AskTell(policy), policy.fresh()
    for _ in range(8):
        trial = study.ask()
        asked = by_hand.ask()
        assert (trial.option, trial.rounds) == (policy.names[asked.arm], asked.rounds)
        study.tell(trial, world.play(asked.arm, trial.rounds))
        by_hand.tell(asked.arm, asked.rounds, alone.play(asked.arm, asked.rounds))
    assert study.policy.to_state() == by_hand.to_state()


def test_the_order_of_telling_does_not_matter():
    one, other = _ours(), _ours()
    values = [30.0, 45.0, 60.0, 20.0]
    for study, order in ((one, [0, 1, 2, 3]), (other, [3, 1, 0, 2])):
        for _ in values:
            study.ask()
        for number in order:
            study.tell(number, values[number])
    assert one.policy.ask() == other.policy.ask()
    assert one.estimates == other.estimates


def test_other_scales_and_other_rounds():
    study = AskTell(Flow(2, mean_delay=5, names=OPTIONS), rounds=100, low=-1.0, high=3.0)
    while len(study.trials) < 30:
        trial = study.ask()
        mean = {"red": 0.5, "blue": 2.0}[trial.option]
        study.tell(trial, mean * 90, rounds=90)
    blue = study.estimates[1]
    assert blue.low < 2.0 < blue.high
    assert study.best_params == {"option": "blue"}


def test_what_makes_no_sense_is_refused():
    study = _ours()
    with pytest.raises(InvalidInput, match="nothing is known"):
        _ = study.best_params
    with pytest.raises(InvalidInput, match="no trial 3"):
        study.tell(3, 1.0)
    trial = study.ask()
    with pytest.raises(InvalidInput, match="choices of 'option'"):
        trial.suggest_categorical("option", ["red", "green"])
    with pytest.raises(InvalidInput, match="a value, or the state FAIL"):
        study.tell(trial, 3.0, state="FAIL")
