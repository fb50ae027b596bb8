"""What people say is read as they mean it, and nonsense is refused in a sentence."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from latesum import InvalidInput, delays
from latesum.delays.lateness import Lateness, as_time, read_duration
from latesum.planning.planner import read_inputs
from latesum.planning.stream import read_lift, read_traffic
from latesum.simulation import Bernoulli

ASKED = {
    "options": 2,
    "rate": 0.02,
    "lift": "10%",
    "traffic": "2400 per day",
    "late": "2 days",
    "run_for": "12 weeks",
}


@pytest.mark.parametrize(
    ("text", "hours"),
    [("2 hours", 2), ("90 days", 2160), ("1.5 weeks", 252), ("30 min", 0.5), ("day", 24)],
)
def test_durations(text, hours):
    assert read_duration(text, "it") == pytest.approx(hours)
    assert as_time(hours)


def test_traffic_and_lift():
    assert read_traffic("5,000/day") == pytest.approx(5000 / 24)
    assert read_traffic("200 per hour") == 200
    assert read_lift(0.1, 0.02) == read_lift("10%", 0.02) == read_lift("0.2 pp", 0.02)


def test_quantiles_are_met():
    late = Lateness.read("half within 2 hours, 95% within 3 days").in_rounds(100)
    assert late.cdf(200) == pytest.approx(0.5, abs=0.01)
    assert late.cdf(7200) == pytest.approx(0.95, abs=0.001)
    assert late.bound is None
    ended = Lateness.read("half within 2 hours and all within 3 days").in_rounds(100)
    assert ended.bound == 7200
    twice = Lateness.read("half within 2 hours, 95% within 3 days").in_rounds(100, factor=2.0)
    assert twice.mean == pytest.approx(2 * late.mean, rel=0.01)


def test_what_people_say_first_is_understood():
    """The last one comes after ten days: spread evenly until then, and never later."""
    for said in ("up to 10 days", "at most 10 days", "within 10 days", "all within 10 days"):
        late = Lateness.read(said).in_rounds(1)
        assert (late.bound, round(late.mean)) == (240, 120)
    assert Lateness.read("about 2 days").in_rounds(1).mean == pytest.approx(48, abs=1)


def test_distributions_in_time():
    assert Lateness.read("uniform(1 hour, 3 days)").in_rounds(10).text == "uniform(10, 720)"
    mixed = Lateness.read("mixture((0.9, exponential(2 hours)), (0.1, constant(1 day)))")
    assert mixed.in_rounds(10).mean == pytest.approx(0.9 * 20.5 + 0.1 * 240, rel=0.01)
    assert mixed.in_rounds(10, factor=2.0).mean == pytest.approx(0.9 * 40.5 + 48, rel=0.01)


def test_a_file_or_a_fit(tmp_path):
    rng = np.random.default_rng(1)
    path = tmp_path / "delays.csv"
    path.write_text("delay\n" + "\n".join(f"{x:.3f}" for x in rng.exponential(5, 2000)))
    late = Lateness.read(path, unit="hour").in_rounds(100)
    assert late.mean == pytest.approx(500, rel=0.1)
    with pytest.raises(InvalidInput, match="time unit"):
        Lateness.read(path)


def test_time_becomes_rounds_and_back():
    inputs = read_inputs(**ASKED)
    assert (inputs.bucket_rounds, inputs.buckets, inputs.horizon) == (2400, 84, 201_600)
    assert inputs.mean_delay_hours == pytest.approx(48, rel=0.01)
    assert inputs.delay().mean == pytest.approx(4800, rel=0.01)
    weekly = read_inputs(**{**ASKED, "bucket": "week"})
    assert weekly.horizon == inputs.horizon
    hourly = read_inputs(**{**ASKED, "bucket": "hour"})
    assert hourly.horizon == inputs.horizon


def _sd(reward):
    return math.sqrt(
        np.average(np.square(reward.values), weights=reward.probabilities) - reward.mean**2
    )


def test_a_mean_reward_with_a_spread():
    asked = {**ASKED, "rate": None, "mean": 3.0, "high": 100.0, "sd": 12.0, "lift": "+0.5"}
    problem = read_inputs(**asked).problem()
    assert problem.arms[1].mean == pytest.approx(0.03)
    assert _sd(problem.arms[1]) == pytest.approx(0.12)
    assert problem.gaps[1] == pytest.approx(0.005)
    widest = read_inputs(**{**asked, "sd": None}).problem()
    assert widest.arms[1] == Bernoulli(0.03)


def test_the_weekly_pattern_fits_the_buckets():
    for bucket in ("hour", "day", "week"):
        inputs = read_inputs(**{**ASKED, "bucket": bucket})
        problem = dataclasses.replace(inputs, weekly=True).problem()
        assert problem.calendar.step == 2400
    high = read_inputs(**{**ASKED, "rate": 0.9, "lift": "5%"})
    assert dataclasses.replace(high, weekly=True).problem().changes


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"rate": 0.5, "lift": "150%"}, "exceeds 1"),
        ({"rate": None, "mean": 9.0, "high": 10.0, "lift": "20%"}, "exceeds the highest reward 10"),
        ({"late": "half within 2 hours, 95% within 1 hour"}, "quantiles must increase"),
        ({"late": "95% within 2 hours, 50% within 3 hours"}, "quantiles must increase"),
        ({"late": "half within 2 hours"}, "nothing supports a tail"),
        ({"late": "exponential(50)"}, "in which unit"),
        ({"late": "soonish"}, "does not say how late"),
        ({"late": 5}, "how late"),
        ({"bucket": "minute"}, "no bucket 'minute'.* Known: day, hour, week"),
        ({"run_for": "0 days"}, "longer than nothing"),
        ({"run_for": "1 day"}, "each of the 2 options needs one"),
        ({"lift": "0%"}, "above 0"),
        ({"rate": "often"}, 'rate must be written such as "3%"'),
        ({"rate": "120%"}, "today.s rate"),
        ({"lift": "much"}, "the lift must be written"),
        ({"traffic": "lots"}, "traffic must be written"),
        ({"traffic": "0 per day"}, "above 0"),
        ({"traffic": "8.000 per day"}, "two ways; write 8000 or 8 per day"),
        ({"traffic": "800.000 a week"}, "two ways; write 800000 or 800 per week"),
        ({"traffic": "1 per month", "bucket": "hour"}, "less than one decision"),
        ({"options": 1}, "at least 2"),
        ({"rate": None}, "one of the two"),
        ({"rate": 2.4}, "for 2.4% write 2.4%"),
        ({"regions": 3}, "regions.* are for a history"),
        ({"traffic": None}, "say traffic"),
        ({"rate": None, "mean": 3.0}, "range"),
        ({"rate": None, "mean": 3.0, "high": 10.0, "sd": 9.0}, "cannot have an sd"),
        ({"switch_cost": -1}, "at least 0"),
        ({"history": "4 weeks"}, "a history is that of an option"),
        ({"history": "1.5 weeks"}, "a history is that of an option"),
        ({"status_quo": "both"}, "there is no status quo 'both'"),
        ({"means": [0.1, 0.2]}, "there is no argument of a plan 'means'"),
    ],
)
def test_nonsense_is_refused(change, says):
    with pytest.raises(InvalidInput, match=says):
        read_inputs(**{**ASKED, **change})


def test_a_fit_says_how_many_delays_it_is_of_and_its_warnings_end_no_sentence():
    bins = {"from": [0, 1, 2], "to": [1, 2, None], "count": [700, 250, 50]}
    late = Lateness.read(delays.fit(bins, unit="day"))
    assert late.said == "fitted to a histogram of 1,000 delays"
    assert late.assumption.endswith("days later on average), which the data cannot show")
