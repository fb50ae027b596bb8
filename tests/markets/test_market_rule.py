"""Decisions from rows: pure, the same whatever the order, sweep and dwell as they are written down."""

import dataclasses
import math

import numpy as np
import pytest

from latesum import delays
from latesum.errors import InvalidInput
from latesum.markets import (
    NOT_KNOWN,
    NOTHING,
    DelayPrior,
    MarketConfig,
    RegionRow,
    decide,
    summarize,
    winner,
)
from latesum.markets import search as search_file
from latesum.markets.kernels import arrived_shares
from latesum.markets.model import _touched, explanations, shape_of
from latesum.markets.rows import Panel
from latesum.markets.rule import decide_panel, unknown_options
from latesum.markets.search import learned, posterior
from latesum.markets.summary import widening, winner_of

OPTIONS = ("old", "new", "bold")
REGIONS = ("north", "south", "east", "west")


def lag_weights(mean, law=None):
    """The share of a bucket's sales that arrives 0, 1, ... buckets after it."""
    return np.diff(arrived_shares(mean, 400, shape_of(law)), prepend=0.0)


def made(regions=REGIONS, days=40, *, seed=1, effects=(0.0, 0.15, -0.1), scale=1.0, **named):
    rng = np.random.default_rng(seed)
    settings = MarketConfig(
        OPTIONS, 90, regions=regions, delay=DelayPrior(1.0), **{"status_quo": "old", **named}
    )
    level = dict(zip(regions, (400, 250, 120, 60), strict=False))
    rows = []
    for day in range(-14, days):
        for place, region in enumerate(regions):
            shown = 0 if day < 0 else (place + day // 4) % 3
            mean = level[region] * np.exp(effects[shown] + 0.1 * (day % 7 == 5))
            total = scale * float(rng.poisson(mean))
            rows.append(RegionRow(region, day, 30.0 * level[region], OPTIONS[shown], total))
    return settings, rows


def test_a_decision_is_a_function_of_the_rows_whatever_their_order():
    settings, rows = made()
    first = decide(rows, 40, settings)
    search_file._MEMORY.clear()
    shuffled = [rows[place] for place in np.random.default_rng(2).permutation(len(rows))]
    assert decide(shuffled, 40, settings) == first
    later = [RegionRow(region, 40, 9000.0, "bold", 999.0) for region in REGIONS]
    assert decide(rows + later, 40, settings) == first


def test_what_is_remembered_of_earlier_weeks_changes_nothing():
    settings, rows = made(days=30)
    for day in (8, 15, 29):
        panel = Panel.of(rows, settings, day)
        with_memory = learned(panel, settings)
        search_file._MEMORY.clear()
        assert learned(panel, settings) == with_memory


def test_the_order_of_regions_means_next_to_nothing():
    """Observations of one bucket are taken one after another, so that equality is not exact."""
    settings, rows = made()
    turned = dataclasses.replace(settings, regions=REGIONS[::-1])
    one = posterior(Panel.of(rows, settings, 40), settings).effects()
    two = posterior(Panel.of(rows, turned, 40), turned).effects()
    assert np.allclose(one[0], two[0], atol=1e-2)
    assert np.allclose(one[1], two[1], atol=1e-3)


def test_the_scale_of_money_means_nothing():
    settings, rows = made(amounts="money", scale=25.0)
    dearer = [row._replace(total=40 * row.total) for row in rows]
    assert decide(rows, 40, settings) == decide(dearer, 40, settings)
    one, two = summarize(rows, 40, settings), summarize(dearer, 40, settings)
    assert [each.effect for each in one.effects] == pytest.approx(
        [each.effect for each in two.effects], abs=1e-9
    )


def test_the_dispersion_of_money_is_learned():
    """Orders of 25 each: the variance of a total is 25 times its mean."""
    settings, rows = made(amounts="money", scale=25.0, days=70)
    found = learned(Panel.of(rows, settings, 70), settings)[0].dispersion
    assert 10 < found < 60


def test_a_missing_row_is_an_absent_one_where_rounds_and_option_are_the_same():
    settings, rows = made()
    gone = {("south", 13), ("east", 26), ("north", 31)}
    absent = [row for row in rows if (row.region, row.bucket) not in gone]
    missing = [
        row._replace(total=None) if (row.region, row.bucket) in gone else row for row in rows
    ]
    assert decide(absent, 40, settings) == decide(missing, 40, settings)
    assert summarize(absent, 40, settings) == summarize(missing, 40, settings)


@pytest.mark.parametrize(("options", "regions"), [(5, 4), (5, 2), (3, 4), (3, 1), (7, 3)])
def test_every_option_is_shown_in_the_sweep(options, regions):
    settings = MarketConfig(
        tuple(map(str, range(options))),
        200,
        regions=tuple(f"r{k}" for k in range(regions)),
        delay=DelayPrior(2.0),
    )
    shown = set()
    for number in range(settings.sweep):
        choices = decide([], number * settings.period_length, settings)
        shown |= {choice.option for choice in choices.values()}
        assert all(choice.purpose == "sweep" for choice in choices.values())
    assert len(shown) == options


def test_a_choice_stays_for_its_dwell():
    settings, rows = made(days=8)
    assert settings.period_length == 2
    started = decide(rows, 8, settings)
    rows += [RegionRow(region, 8, 3000.0, started[region].option, None) for region in REGIONS]
    went_on = decide(rows, 9, settings)
    for region in REGIONS:
        assert (went_on[region].option, went_on[region].purpose) == (
            started[region].option,
            "continue",
        )


def test_after_the_horizon_the_best_mean_is_shown():
    settings, rows = made(days=60)
    settings = dataclasses.replace(settings, horizon=60)
    choices = decide(rows, 60, settings)
    assert {(choice.option, choice.purpose) for choice in choices.values()} == {("new", "best")}


@pytest.mark.parametrize(
    ("delay", "report_lag", "period", "sweep"),
    [
        (2.0, 6, 4, 3 + 1),
        (2.0, 4, 4, 3 + 1),
        (2.0, 3, 4, 3),  # the first day of the last period is known
        (2.00002, 0, 4, 3),  # the law of a delay in whole rounds, where two buckets are meant
        (2.1, 0, 5, 3),
    ],
)
def test_the_period_follows_the_delay_and_the_sweep_the_report_lag(
    delay, report_lag, period, sweep
):
    settings = MarketConfig(OPTIONS, 90, delay=DelayPrior(delay), report_lag=report_lag)
    assert (settings.period_length, settings.sweep) == (period, sweep)


def test_barred_options_are_neither_swept_nor_drawn():
    settings, rows = made()
    past = [row for row in rows if row.bucket < 0]
    swept = decide(past, 0, settings, barred={"*": ["old"], "north": ["new"]})
    assert swept["north"].option == "bold"
    assert "old" not in {choice.option for choice in swept.values()}
    with pytest.raises(InvalidInput, match="all options of region 'north' are barred"):
        decide(past, 0, settings, barred={"north": OPTIONS})
    assert {choice.option for choice in decide(rows, 40, settings).values()} == {"new"}
    drawn = decide(rows, 40, settings, barred={"*": ["new"]})
    assert "new" not in {choice.option for choice in drawn.values()}


def test_the_effects_are_found_and_a_winner_is_named():
    settings, rows = made(days=70)
    found = summarize(rows, 70, settings)
    new = found.effects[1]
    assert new.low95 < np.expm1(0.15) < new.high95
    assert new.chance > 0.99
    assert new.low95 < new.low90 < new.effect < new.high90 < new.high95
    assert found.pattern[(5 + settings.phase) % 7] == max(found.pattern)
    assert winner(rows, 70, settings).option == "new"
    early = winner(rows, 2, settings)  # one dwell
    assert early.option is None
    assert "new" in early.waits_for
    # With such a lift any option is as good as the best: what keeps it from winning is that not all had a chance.
    any_would_do = winner(rows, 2, settings, lift=1.0)
    assert any_would_do.chance > 0.95
    assert any_would_do.option is None


def test_origins_say_what_a_total_came_from():
    settings, rows = made(regions=("",), days=4)
    assert summarize(rows, 4, settings).origins["", -1] == {"old": 1.0}
    rows = [row._replace(shown="new") if row.bucket == 0 else row for row in rows]
    first = summarize(rows, 1, settings).origins["", 0]
    assert first["new"] == pytest.approx(lag_weights(1.0)[0], abs=0.03)


def test_an_outlier_is_marked():
    settings, rows = made()
    odd = [row._replace(total=5 * row.total) if row[:2] == ("east", 20) else row for row in rows]
    outliers = summarize(odd, 40, settings).outliers
    assert ("east", 20) in outliers
    holiday = dataclasses.replace(settings, holidays=(20,))
    assert summarize(odd, 40, holiday).outliers.get(("east", 20), 0.0) < outliers["east", 20]
    # Its late sales come on the days after.
    touched = _touched(np.array([False, True, False, False]), 1.0)
    assert touched == pytest.approx([0.0, 1.0, np.exp(-1), np.exp(-2)])


def test_a_wild_level_and_too_few_rows_are_warned_of():
    rng = np.random.default_rng(4)
    settings = MarketConfig(OPTIONS, 90, status_quo="old", rounds_known=False)
    level = np.cumsum(0.12 * rng.standard_normal(70))
    rows = [
        RegionRow(
            "",
            day,
            1.0,
            OPTIONS[day // 4 % 3] if day >= 0 else "old",
            float(rng.poisson(5000 * np.exp(level[day + 30]))),
        )
        for day in range(-30, 40)
    ]
    assert "Fewer than 14 totals" in summarize(rows[:8], -12, settings).warnings[0]
    noisy = summarize(rows, 40, settings).noisy_demand
    assert noisy.startswith("Demand changes by")
    assert "Record the visitors, or use regions" in noisy


def test_hours_have_a_pattern_of_hours_and_weekdays():
    rng = np.random.default_rng(1)
    settings = MarketConfig(("old", "new"), 24 * 20, status_quo="old", pattern="hour", phase=7)
    rows = []
    for hour in range(-24 * 7, 24 * 4):
        at = hour + 7
        mean = 200 * np.exp(0.5 * (at % 24 == 12) - 0.4 * (at // 24 % 7 == 6))
        rows.append(
            RegionRow("", hour, 5000.0, "old" if hour < 48 else "new", float(rng.poisson(mean)))
        )
    pattern = summarize(rows, 24 * 4, settings).pattern
    assert len(pattern) == 31
    assert int(np.argmax(pattern[:24])) in (12, 13)
    assert int(np.argmin(pattern[24:])) == 6


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"options": ("a",)}, "2 to 50 options"),
        ({"options": ("a", "a")}, "same name"),
        ({"regions": "north"}, "sequence of names"),
        ({"status_quo": "c"}, "no status quo 'c'"),
        ({"horizon": 0}, "the horizon in buckets"),
        ({"pattern": "yearly"}, "pattern"),
        ({"novelty": 2.0}, "novelty"),
        ({"delay": 2.0}, "DelayPrior"),
        ({"options": ("a", NOTHING)}, "must not be called"),
    ],
)
def test_settings_refuse(change, words):
    with pytest.raises(InvalidInput, match=words):
        MarketConfig(**{"options": ("a", "b"), "horizon": 9, **change})


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (RegionRow("nord", 0, 9, "old", 1), "did you mean 'north'"),
        (RegionRow("north", 0, 9, "olde", 1), "no option 'olde'"),
        (RegionRow("north", 0, 9, {"old": 0.5, "new": 0.2}, 1), "add up to 1"),
        (RegionRow("north", 0, -1, "old", 1), "rounds"),
        (RegionRow("north", 0, 9, "old", -1), "a total"),
        (RegionRow("north", 0, 9, "old", float("nan")), "a total"),
    ],
)
def test_rows_refuse(row, words):
    settings, _ = made()
    with pytest.raises(InvalidInput, match=words):
        decide([row], 1, settings)
    with pytest.raises(InvalidInput, match="two rows"):
        decide([RegionRow("north", 0, 9, "old", 1)] * 2, 1, settings)


@pytest.mark.parametrize("ran", ["nothing", "old"])
def test_whether_nothing_ran_before_is_found_out(ran):
    """Sales build up over days where nothing ran; where something did, they are there from the start."""
    rng = np.random.default_rng(7)
    weights = np.cumsum(lag_weights(3.0))
    rows = [
        RegionRow(
            "",
            day,
            1e4,
            OPTIONS[day // 6 % 3],
            float(
                rng.poisson(400 * (weights[min(day, len(weights) - 1)] if ran == "nothing" else 1))
            ),
        )
        for day in range(30)
    ]

    def effects(before, **named):
        settings = MarketConfig(OPTIONS, 60, delay=DelayPrior(3.0), status_quo=before, **named)
        return np.array([each.effect for each in summarize(rows, 30, settings).effects[1:]])

    truth = effects(NOTHING if ran == "nothing" else "old")
    off = np.abs(effects(NOT_KNOWN) - truth).max()
    assert off < (1e-9 if ran == "nothing" else 0.05)


@pytest.mark.parametrize(("horizon", "share"), [(90, 0.885), (9, 0.995)])
def test_draws_are_from_half_of_the_uncertainty_and_less_bold_towards_the_end(horizon, share):
    """Options that look the same but for 0.6 standard deviations of their difference, 400 seeds.

    The better one is drawn with chance Phi(0.6 / 0.5) = 0.885, and in the last bucket of nine with
    Phi(0.6 / 0.5 / sqrt(1 / 4.5)) = 0.995. The share has a standard error below 0.02, and is wrong by
    0.06 in less than 1 of 500 cases.
    """
    settings = MarketConfig(
        ("a", "b"),
        horizon,
        delay=DelayPrior(1.0),
        status_quo="a",
        pattern="none",
        differing_delays=0.0,
    )
    rows = Panel.of(
        [RegionRow("", day, 1e4, "ab"[max(0, day) // 2 % 2], 300.0) for day in range(-14, 8)],
        settings,
        8,
    )
    found = posterior(rows, settings)
    covariance = found.effects()[1]
    spread = math.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    found.fits[0].mean[:2] = 0.0, 0.6 * spread

    better = [
        decide_panel(rows, 8, dataclasses.replace(settings, seed=seed), found=found, chances=False)
        for seed in range(400)
    ]
    assert np.mean([each.option == "b" for (each,) in better]) == pytest.approx(share, abs=0.06)


@pytest.mark.parametrize(("turns", "swept"), [(False, [0, 1, 2]), (True, [2])])
def test_the_sweep_leaves_out_what_every_region_has_shown(turns, swept):
    settings = MarketConfig(("a", "b", "c"), 60, regions=("north", "south"), status_quo="a")
    rows = [
        RegionRow(region, day, 900.0, "ab"[(place + day * turns) % 2], 30.0)
        for day in range(-40, 0)
        for place, region in enumerate(settings.regions)
    ]
    assert unknown_options(Panel.of(rows, settings, 0), settings) == swept


def test_hours_are_not_taken_for_days():
    """Two weeks of a history are 336 hours, and a search is made when a quarter more of them is known."""
    settings = MarketConfig(("old", "new"), 240, status_quo="old", pattern="hour")

    def swept_and_searched(hours):
        rows = [RegionRow("", hour, 900.0, "old", 30.0) for hour in range(-hours, 100)]
        panel = Panel.of(rows, settings, 100)
        return unknown_options(panel, settings), len(
            search_file._search_times(panel.known.tobytes(), panel.first)
        )

    assert swept_and_searched(335) == ([0, 1], 2)
    assert swept_and_searched(336) == ([1], 2)


def test_effects_that_change_are_warned_of():
    """Two options that show in turn in four regions change places half-way: seen from what is shown."""
    rng = np.random.default_rng(3)
    settings = MarketConfig(
        ("old", "new"), 90, regions=REGIONS, delay=DelayPrior(0.5), status_quo="old"
    )
    stays, changes = [], []
    for day in range(-14, 80):
        for place, region in enumerate(REGIONS):
            shown = ("old", "new")[0 if day < 0 else (place + day // 2) % 2]
            for rows, effect in ((stays, 0.15), (changes, 0.15 * (1 - day / 40))):
                mean = 2000 * np.exp(effect * (shown == "new"))
                rows.append(RegionRow(region, day, 60_000.0, shown, float(rng.poisson(mean))))
    assert "effects seem to change" in " ".join(summarize(changes, 80, settings).warnings)
    assert "effects seem to change" not in " ".join(summarize(stays, 80, settings).warnings)
    told = dataclasses.replace(settings, novelty=0.01)
    assert "effects seem to change" not in " ".join(summarize(changes, 80, told).warnings)


def test_the_sweep_leaves_out_what_the_history_has_shown_where_it_is_shorter_without():
    settings, rows = made(regions=("",), days=0)
    dwell = settings.period_length
    shown = [decide(rows, number * dwell, settings)[""] for number in range(3)]
    assert {each.option for each in shown[:2]} == {"new", "bold"}
    assert [each.purpose == "sweep" for each in shown] == [True, True, False]
    short = [row for row in rows if row.bucket >= -13]  # too short to know an option by
    assert {decide(short, number * dwell, settings)[""].option for number in range(3)} == set(
        OPTIONS
    )
    several, past = made(days=0)
    assert len({each.option for each in decide(past, 0, several).values()}) == 3
    two, past = made(regions=REGIONS[:2], days=0)
    assert {each.option for each in decide(past, 0, two).values()} == {"new", "bold"}
    assert "sweep" not in {each.purpose for each in decide(past, dwell, two).values()}


def test_the_largest_region_has_the_first_option_of_the_order():
    """Two regions and three options: whoever sweeps second gets the second option, the largest the first."""
    settings, rows = made(regions=("south", "north"), days=0)
    first = {row.region: row for row in rows if row.bucket == -1}
    swapped = [
        row._replace(rounds=first["north" if row.region == "south" else "south"].rounds)
        for row in rows
    ]
    one, two = decide(rows, 0, settings), decide(swapped, 0, settings)
    assert one["south"].option == two["north"].option != one["north"].option
    order = np.random.default_rng([settings.seed, 0]).permutation(len(OPTIONS))
    tried = [OPTIONS[place] for place in order if OPTIONS[place] != "old"]
    assert one["south"].option in (OPTIONS[order[0]], tried[0])


def shown_late(times, days, *, effect=0.15, gift=range(6, 200)):
    """One stream of "old" and, on some days, "gift": better and `times` as late; no noise."""
    settings = MarketConfig(("old", "gift"), 90, delay=DelayPrior(2.0), status_quo="old")
    arrived = np.zeros(days + 28)
    shown = {day: "gift" if day in gift else "old" for day in range(-200, days)}
    for option, delay, worth in (
        ("old", 2.0, 600.0),
        ("gift", 2.0 * times, 600 * math.exp(effect)),
    ):
        for lag, weight in enumerate(lag_weights(delay)):
            for day in range(-28 - lag, days - lag):
                if shown[max(day, -200)] == option:
                    arrived[day + lag + 28] += weight * worth
    rows = [
        RegionRow("", day, 2e4, shown[day], float(round(arrived[day + 28])))
        for day in range(-28, days)
    ]
    return settings, rows


def test_a_visit_goes_on_while_the_option_may_be_best_and_late():
    """Three days into a visit, "twice as late and 15% better" looks like a loss."""
    settings, rows = shown_late(2.0, 9)
    settings = dataclasses.replace(settings, period=1)
    choice = decide(rows, 9, settings)[""]
    assert (choice.option, choice.purpose, choice.late.option) == ("gift", "late", "gift")
    assert 1.5 < choice.late.times < 2.5
    assert choice.late.buckets > 8
    sure = dataclasses.replace(settings, differing_delays=0.0)
    assert decide(rows, 9, sure)[""].option == "old"


@pytest.mark.parametrize(("gift", "late"), [(range(6, 9), True), (range(6, 40), False)])
def test_an_option_that_may_be_late_is_shown_again_until_it_was_shown_long_enough_once(gift, late):
    settings, rows = shown_late(2.0, gift.stop + 1, effect=0.15 if late else -0.05, gift=gift)
    settings = dataclasses.replace(settings, period=1)
    choice = decide(rows, gift.stop + 1, settings)[""]
    assert (choice.late is not None) is late
    assert choice.option == ("gift" if late else "old")


@pytest.mark.parametrize(("barred", "finds_out"), [({}, "south"), ({"south": ["gift"]}, "north")])
def test_the_largest_region_finds_out_for_all_whether_an_option_is_late(barred, finds_out):
    settings, rows = shown_late(2.0, 10, gift=range(6, 9))
    settings = dataclasses.replace(settings, period=1, regions=("north", "south", "east"))
    sizes = {"north": 1.0, "south": 1.2, "east": 0.8}
    rows = [
        row._replace(region=region, rounds=size * row.rounds, total=size * row.total)
        for row in rows
        for region, size in sizes.items()
    ]
    choices = decide(rows, 10, settings, barred=barred)
    assert [region for region in sizes if choices[region].purpose == "late"] == [finds_out]
    assert choices[finds_out].option == "gift"


def test_one_stream_without_visitors_keeps_equal_delays_and_says_so():
    settings, rows = shown_late(2.0, 12)
    blind = dataclasses.replace(settings, rounds_known=False)
    assert blind.delays_may_differ == 0
    assert "cannot tell a late option" in " ".join(summarize(rows, 12, blind).warnings)
    given = dataclasses.replace(blind, differing_delays=0.2)
    assert "cannot tell a late option" not in " ".join(summarize(rows, 12, given).warnings)


def test_explanations_are_a_law_of_probability():
    for status_quo in ("old", NOTHING, NOT_KNOWN):
        found = explanations(MarketConfig(OPTIONS, 90, status_quo=status_quo))
        assert sum(each.prior for each in found) == pytest.approx(1.0)
        assert found[0].ratios == (1.0, 1.0, 1.0)


def test_a_winner_waits_in_the_first_half_for_an_option_that_was_shown_once():
    """After one visit, "worse" and "late" look alike; after half of the run it is not waited for."""
    settings, rows = made(regions=("",), days=44, effects=(0.0, 0.3, -0.3), period=4)
    once = [
        row._replace(shown="new" if row.shown == "bold" and row.bucket > 12 else row.shown)
        for row in rows
    ]
    waiting = winner(once, 44, settings)
    assert waiting.waits_for == ("bold",)
    assert waiting.candidates == ("new", "bold")
    removed = winner(once, 44, settings, barred=("bold",))
    assert (removed.candidates, removed.waits_for) == (("new",), ())
    assert "new" not in winner(once, 44, settings, barred=("new",)).candidates
    sure = dataclasses.replace(settings, differing_delays=0.0)
    assert winner(once, 44, sure).waits_for == ()
    later = winner(once, 44, dataclasses.replace(settings, horizon=80))
    assert (later.candidates, later.waits_for) == (("new",), ())


def test_a_winner_is_named_by_intervals_as_wide_as_those_that_are_reported():
    """One standard deviation of the reported width ahead: Phi(1) = 0.841; 2,000 draws, s.e. 0.008."""
    settings, rows = made(regions=("",), differing_delays=0.0)
    settings = dataclasses.replace(settings, options=OPTIONS[:2])
    panel = Panel.of([row for row in rows if row.shown != "bold"], settings, 40)
    found = posterior(panel, settings)
    covariance = found.effects()[1]
    spread = math.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    found.fits[0].mean[:2] = 0.0, widening(settings) * spread
    named = winner_of(panel, settings, lift=0.0, found=found)
    assert named.chance == pytest.approx(0.841, abs=0.025)


def test_two_short_periods_with_a_gap_are_two_periods():
    """The option "bold" has two periods of three buckets, shorter than the four that are usual."""
    settings, rows = made(regions=("",), days=44, effects=(0.0, 0.3, -0.3), period=4)
    twice = [
        row._replace(shown="new" if row.bucket not in (8, 9, 10, 20, 21, 22) else "bold")
        if row.shown == "bold"
        else row
        for row in rows
    ]
    assert {row.bucket for row in twice if row.shown == "bold"} == {8, 9, 10, 20, 21, 22}
    assert winner(twice, 44, settings).waits_for == ()


# Rows at the edge: none, no visitors, no sales, refunds, enormous totals, every shape of delay.

TWO = MarketConfig(("a", "b", "c"), 90, regions=("n", "s"), delay=DelayPrior(2.0))


def both(days, rounds, total):
    return [
        RegionRow(region, day, rounds, "a", total(day)) for day in range(days) for region in "ns"
    ]


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [RegionRow("n", day, 100, "a", 3) for day in range(30)],  # one region has no row
        both(30, 0, lambda day: 0),
        both(30, 100, lambda day: 0),
        both(30, None, lambda day: 50),
        both(30, 100, lambda day: None),
        both(30, 1e9, lambda day: 1e9 * (day % 3)),
    ],
    ids=["none", "one region", "no visitors", "no sales", "no rounds", "no totals", "enormous"],
)
@pytest.mark.filterwarnings("error")
def test_decisions_and_readings_of_odd_rows(rows):
    choices = decide(rows, 40, TWO)
    assert {choice.option for choice in choices.values()} <= {"a", "b", "c"}
    found = summarize(rows, 40, TWO)
    assert all(math.isfinite(value) for effect in found.effects for value in effect[1:])
    assert winner(rows, 40, TWO).option is None


@pytest.mark.filterwarnings("error")
def test_refunds_may_make_money_negative():
    settings = MarketConfig(
        ("a", "b"), 90, amounts="money", status_quo=NOTHING, delay=DelayPrior(0)
    )
    rows = [RegionRow("", day, 100, "ab"[day % 2], day - 5.0) for day in range(40)]
    assert math.isfinite(summarize(rows, 40, settings).effects[1].high95)


@pytest.mark.parametrize(
    "law", ["constant(5000)", "pareto(1.5, 50).truncated(20000)", "uniform(0, 9000)"]
)
def test_every_law_of_delays_can_be_told(law):
    told = DelayPrior(delays.parse(law).mean / 5_000, "known", delays.parse(law))
    weights = lag_weights(told.mean, told.law)
    assert weights.sum() == pytest.approx(1.0, abs=2e-4)
    assert (weights >= -1e-12).all()
    lags = sum(lag * weight for lag, weight in enumerate(weights))
    assert lags == pytest.approx(
        told.mean, abs=0.02
    )  # visitors come in the middle of a bucket, and so do sales
    settings = MarketConfig(("a", "b"), 90, delay=told, status_quo="a")
    rows = [RegionRow("", day, 5_000, "ab"[day // 4 % 2], 150 + day % 5) for day in range(40)]
    assert abs(summarize(rows, 40, settings).effects[1].effect) < 0.05
