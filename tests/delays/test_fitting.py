"""Delays from data: estimates by hand, files, warnings, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from delay_samples import averages_of, single
from scipy import stats

from latesum import InvalidInput, Problem, delays
from latesum.delays.curves import POINTS
from latesum.delays.fitting import result
from latesum.delays.fitting.kaplan_meier import fit_single


@pytest.fixture
def few_resamples(monkeypatch):
    monkeypatch.setattr(result, "RESAMPLES", 100)


def test_kaplan_meier_by_hand():
    # At risk 5, 4, 2: S = 0.8, 0.6 after 2 (of 4, one lost at 3), 0.3 after 4, 0 after 5.
    fitted = delays.fit({"delay": [1, 2, 3, 4, 5], "censored": [0, 0, 1, 0, 0]})
    at = np.array([0.5, 1.5, 2.5, 4.5, 5.5])
    assert fitted.curve.survival(at) == pytest.approx([1.0, 0.8, 0.6, 0.3, 0.0])
    assert fitted.mean.value == pytest.approx(1 + 0.8 + 2 * 0.6 + 0.3)
    assert fitted.warnings == ()


def test_the_largest_seen_is_no_bound():
    """Not even where nothing is censored: ODAAF-B would rely on it."""
    bins = {"from": [0, 2, 4], "to": [2, 4, 9], "count": [60, 30, 10]}
    for source, seen in (([1, 2, 5], 5), (bins, 9)):
        fitted = delays.fit(source)
        assert (fitted.largest_seen, fitted.delay(10).bound) == (seen, None)
        assert delays.parse(fitted.to_json()["delay"]).bound is None
    cut = delays.fit({"delay": [1, 2, 2, 3, 5, 8], "censored": [0, 0, 0, 0, 0, 1]})
    assert (cut.largest_seen, cut.observed_until, cut.delay().bound) == (5, 8, None)


def test_policies_that_need_a_bound_ask_for_it():
    from latesum.experiments.spec import knowledge
    from latesum.policies import PolicySpec

    fitted = delays.fit([1, 2, 2, 5, 9])
    known = knowledge(Problem([0.5, 0.6], fitted.delay(10)), 10_000)
    with pytest.raises(InvalidInput, match=r"must be given the delay bound.*truncate a fitted one"):
        PolicySpec.parse("odaaf-b").given(known)
    known = knowledge(Problem([0.5, 0.6], fitted.delay(10).truncated(90)), 10_000)
    assert known["delay_bound"] == 90
    assert PolicySpec.parse("odaaf-b").given(known).build().delay_bound == 90


@pytest.mark.usefixtures("few_resamples")
def test_many_heavy_tailed_delays_keep_their_moments():
    # 100,000 different times are put into groups: the longest of them must not all be taken for as
    # long as the very longest.
    seen = 10 * (np.random.default_rng(5).random(100_000) ** (-1 / 1.5) - 1)
    fitted = delays.fit(seen.tolist())
    assert fitted.mean.value == pytest.approx(seen.mean(), rel=1e-9)
    assert fitted.variance.value == pytest.approx(seen.var(), rel=1e-4)
    assert fitted.largest_seen == fitted.observed_until == seen.max()
    assert len(fitted.curve.times) <= 8001
    for share, row in fitted.quantiles.items():
        assert row.value == pytest.approx(np.quantile(seen, share), rel=2e-3)


def test_a_csv_file_as_people_write_it(tmp_path):
    """A mark of its encoding, blanks around values, blank lines, empty cells, quoted values."""
    file = tmp_path / "late.csv"
    file.write_text(
        '\ufeff delay , "censored"\n1, no\n\n3,"no"\n 4 ,0\n6,0\n8,false\n9,YES\n', "utf-8"
    )
    wanted = {"delay": [1, 3, 4, 6, 8, 9], "censored": [0, 0, 0, 0, 0, 1]}
    assert delays.fit(file).mean == delays.fit(wanted).mean
    bins = tmp_path / "bins.csv"
    bins.write_text("from,to,count\n0,1,300\n1,7,200\n7,,20\n", encoding="utf-8")
    assert (
        delays.fit(bins).mean
        == delays.fit({"from": [0, 1, 7], "to": [1, 7, None], "count": [300, 200, 20]}).mean
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("delay,censored\n", "has no rows"),
        ("delay\n1\n2,3\n", "row 3: it has 2 columns, and the first line names 1;.* decimal mark"),
        ('delay\n1\n"2\n', "row 3: a quotation mark"),
        ("delay\n1\nsoon\n", "line 3 of .*: 'delay' must be a number of at least 0, not 'soon'"),
        ("delay\n1\nNA\n", "line 3 of .*: 'delay' must be a number of at least 0, not None"),
        (
            "bucket,as_of,total\n2025-03-01,2025-03-01,3\n2025-03-32,2025-04-01,4\n",
            "'2025-03-32' is none",
        ),
    ],
)
def test_a_csv_file_that_cannot_be_used_is_refused(tmp_path, text, says):
    file = tmp_path / "late.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=says):
        delays.fit(file)


def test_the_tail_is_warned_of():
    rng = np.random.default_rng(5)
    source = single(stats.expon(0, 10), 500, rng, until=25.0)
    fitted = delays.fit(source, unit="hour")
    assert "the tail is longer than the data" in fitted.warnings[0]
    assert "are beyond 25 hours;" in fitted.warnings[0]
    assert f"({fitted.curve.tail:.4g} hours later on average)" in fitted.warnings[0]
    # The mean of what is known: no censored delay counts for more than where it was lost.
    assert fitted.restricted_mean == pytest.approx(np.minimum(source["delay"], 25.0).mean())
    assert fitted.mean.value == pytest.approx(
        fitted.restricted_mean + fitted.unseen * fitted.curve.tail
    )
    assert fitted.mean.low < 10 < fitted.mean.high


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ({"lag": [1, 2]}, "no column 'delay'; it has: lag"),
        ({"delay": [1, -2]}, "row 2"),
        ({"delay": [1.0, 2.0, 3.0, 3.0], "censored": [0, 0, 1, 1]}, "no data supports a tail"),
        ({"from": [0, 1], "to": [1, None], "count": [3, 7]}, "no data supports a tail"),
        ({"from": [0, 2], "to": [1, 3], "count": [3, 7]}, "must follow each other"),
        ({"bucket": [1, 2], "total": [3, 4]}, "has no column 'delay'"),
        ({"bucket": [1, 2], "as_of": [0, 2], "total": [3, 4]}, "at least 3 different buckets"),
        (
            {
                "bucket": [1, 1, 2, 2, 3, 3, 4],
                "as_of": [1, 2, 2, 3, 3, 4, 4],
                "total": [60, 90, 61, 92, 59, 88, 60],
            },
            "still grow at an age of 1 bucket",
        ),
        (
            {"bucket": [1, 1, 2, 3], "as_of": [1, 1, 2, 3], "total": [60, 61, 60, 60]},
            "rows 1 and 2 give different totals",
        ),
        (
            {"bucket": [1, 1, 2, 3], "as_of": [1, 2, 2, 3], "total": [60, 61, 60, 60]},
            "fewer than 3 buckets have a total",
        ),
        ({"delay": []}, "no rows"),
        ("no-such-file.csv", "there is no file"),
    ],
)
def test_nonsense_is_refused(source, says):
    with pytest.raises(InvalidInput, match=says):
        delays.fit(source)


def test_the_pace_of_a_tail_counts_the_time_of_those_that_go_on():
    many = [*np.repeat(np.arange(1, 11), 8).tolist(), *range(11, 21), *[20] * 15]
    fitted = delays.fit({"delay": many, "censored": [0] * 90 + [1] * 15})
    # A quarter of 90 events is 22.5: the ten from 11 on and two times eight at 9 and 10.
    exposure = 8 * 1 + 8 * 2 + sum(t - 8 for t in range(11, 21)) + 15 * (20 - 8)
    assert fitted.curve.tail == pytest.approx(exposure / 26)
    assert fitted.mean.value == pytest.approx(
        fitted.restricted_mean + fitted.unseen * fitted.curve.tail
    )


def test_the_pace_of_a_histograms_tail_is_that_of_the_bins_in_which_it_falls_by_two_fifths():
    bins = {"from": [0, 1, 2, 3], "to": [1, 2, 3, None], "count": [400, 200, 40, 80]}
    fitted = delays.fit(bins)
    # From 1 on, 320 fall to 80 in two time units; from 2 on only 120 to 80, a third.
    assert fitted.curve.tail == pytest.approx(2 / np.log(320 / 80))


def test_where_in_its_bin_a_delay_is_widens_the_limits():
    # With a million delays in two bins the sampling error is nothing, and the place in a bin all.
    bins = {"from": [0, 10, 20], "to": [10, 20, None], "count": [700_000, 250_000, 50_000]}
    fitted = delays.fit(bins)
    tail = 0.05 * fitted.curve.tail
    straight = 0.7 * 5 + 0.25 * 15 + 0.05 * 20 + tail  # the middles of the bins
    apart = abs(straight - fitted.mean.value)
    assert apart > 0.1
    assert fitted.mean.high - fitted.mean.value == pytest.approx(apart / 4, rel=0.4)
    assert fitted.mean.value - fitted.mean.low == pytest.approx(apart / 4, rel=0.4)
    median = fitted.quantiles[0.5]
    assert median.high - median.low > 0.25


@pytest.mark.parametrize("size", [20, 100, 1000])
def test_limits_of_quantiles_are_those_of_order_statistics(size):
    """Exact: the number of delays below a quantile is binomial."""
    drawn = np.sort(np.random.default_rng(size).exponential(10, size))
    fitted = delays.fit(drawn.tolist())
    for share, row in fitted.quantiles.items():
        first = int(stats.binom.ppf(0.025, size, share))  # of those below, rarely fewer
        last = int(stats.binom.ppf(0.975, size, share)) + 1
        if first >= 1:
            assert row.low == drawn[first - 1]
        if last <= size:
            assert row.high == drawn[last - 1]


def test_totals_that_are_taken_back_do_not_make_a_delay_negative():
    """Of 100, 90 and 99 are known after one and two buckets, 9 of which are taken back later."""
    grown = [50, 90, 99, 90, 91]
    rows = [(b, b + lag, total * (1 + b % 3)) for b in range(12) for lag, total in enumerate(grown)]
    source = dict(zip(("bucket", "as_of", "total"), np.array(rows).T, strict=True))
    fitted = delays.fit(source)
    assert (np.diff(fitted.curve.surviving) <= 1e-12).all()
    # What was there at a lag, at most what was there at a later one.
    assert 1 - averages_of(fitted.curve.surviving[: POINTS * 4]) == pytest.approx(
        np.array([50, 90, 90, 90]) / 91 * (1 - fitted.unseen), rel=1e-9
    )


def test_a_tail_whose_longest_delays_are_a_third_of_the_mean_is_heavy():
    found = fit_single(np.append(np.ones(99), 50.0), np.zeros(100, dtype=bool))
    assert any("heavy" in each for each in found.warnings)
