"""What a notebook shows: HTML of every object that one looks at, images of figures, bars, frames."""

import html.parser
import io
import itertools
import sys
import types

import narwhals
import numpy as np
import pytest

import latesum
from latesum import _extras, _progress, attributed, delays
from latesum.experiments import progress_bar

PROBLEM = latesum.Problem([0.3, 0.7], "uniform(0, 20)")


class _Checked(html.parser.HTMLParser):
    """Every tag that is opened is closed, in order; nothing is run or loaded."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        assert tag not in ("script", "link", "iframe")
        if tag not in ("br", "meta", "img"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def shown(thing):
    text = thing._repr_html_()
    checked = _Checked()
    checked.feed(text)
    checked.close()
    assert checked.open == []
    return text, checked.seen


@pytest.fixture(scope="module")
def comparison():
    policies = {"a<b": latesum.Flow(2, mean_delay=10), "qpm-d": "qpm-d"}
    return latesum.compare(PROBLEM, policies, 2_000, replications=3, seed=1)


def test_a_comparison_is_its_table(comparison):
    text, tags = shown(comparison)
    assert tags.count("tr") == 3
    assert "a&lt;b" in text
    assert "qpm-d *" in text
    assert "attributed feedback" in text


def test_a_run_shows_what_was_played_and_its_regret():
    run = latesum.simulate(PROBLEM, latesum.Flow(2, mean_delay=10), 2_000, seed=1)
    text, tags = shown(run)
    assert tags.count("svg") == 2
    assert f"regret {run.regret():,.0f}" in text


def test_a_run_of_a_baseline_with_very_many_blocks_stays_small():
    run = latesum.simulate(
        latesum.Problem([0.5, 0.5], "constant(0)"), attributed.QPMD("ucb1", 2), 9_000, seed=1
    )
    assert len(run.plays) > 400
    assert len(shown(run)[0]) < 60_000
    assert "Attributed feedback" in shown(attributed.QPMD("ucb1", 2))[0]


@pytest.mark.parametrize("name", latesum.policies.available())
def test_every_policy_shows_what_it_believes_and_does_next(name):
    known = {"n_arms": 2, "horizon": 9_000, "mean_delay": 5, "delay_bound": 9}
    known |= {"delay_variance": 9, "best_arm": 1}
    policy = latesum.policies.PolicySpec.parse(name).given(known).build()
    before = policy.to_state()
    text, tags = shown(policy)
    assert "Next:" in text
    assert tags.count("tr") == 3
    assert policy.to_state() == before


def test_a_problem_shows_its_arms():
    text, tags = shown(latesum.Problem([0.3, "beta(2, 3)"], ["uniform(0, 20)", "constant(3)"]))
    assert tags.count("tr") == 3
    assert "1 (best)" in text


def test_a_plan_and_a_campaign(tmp_path):
    plan = latesum.plan(
        options=2,
        rate=0.1,
        lift="50%",
        traffic="1000 per day",
        late="4 hours",
        run_for="8 weeks",
        replications=20,
        workers=1,
        sensitivity=False,
        policies=["half test"],
    )
    assert "GO" in plan._repr_html_().upper()
    with latesum.Campaign.create(
        name="banner",
        options=["red", "<blue>"],
        start="2026-01-01",
        expected_rounds=1000,
        time_basis="arrival",
        policy="flow",
        parameters={"mean_delay": 100},
        store=tmp_path / "x.db",
    ) as campaign:
        campaign.decide(1)
        campaign.record(1, rounds=1000, total=300)
        text, _ = shown(campaign)
    assert "&lt;blue&gt;" in text
    assert "banner: " in text


def test_figures_are_images_without_pyplot(comparison):
    figure = comparison.plot()
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert isinstance(figure, _extras.figure_class())
    assert delays.fit([1, 3, 4, 8, 9, 9]).plot()._repr_png_().startswith(b"\x89PNG")


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames_are_tidy_in_every_library(comparison, backend):
    frame = narwhals.from_native(comparison.to_frame(backend))
    assert frame.implementation.value == backend
    assert frame.columns == ["problem", "policy", "run", "rounds", "regret"]
    assert len(frame) == 2 * 3 * len(comparison.checkpoints)
    one = frame.filter(narwhals.col("policy") == "qpm-d", narwhals.col("run") == 2)
    assert one["regret"].to_list() == comparison["qpm-d"].regrets[2].tolist()
    assert one["rounds"].to_list() == comparison.checkpoints.tolist()
    per_run = narwhals.from_native(comparison.to_frame(backend, per="run"))
    assert per_run.columns == ["problem", "policy", "run", "regret", "ended_on_best", "switches"]
    assert per_run["regret"].to_list()[:3] == comparison["a<b"].regrets[:, -1].tolist()
    run = latesum.simulate(PROBLEM, latesum.Flow(2, mean_delay=10), 500, seed=1)
    played = narwhals.from_native(run.to_frame(backend))
    assert played["rounds"].sum() == 500
    assert played.columns == ["start", "rounds", "arm", "purpose", "total"]


def test_a_kind_of_frame_that_there_is_not_is_refused(comparison):
    with pytest.raises(latesum.InvalidInput, match="pandas"):
        comparison.to_frame("panda")
    with pytest.raises(latesum.InvalidInput, match="Known: checkpoint, run, summary"):
        comparison.to_frame(per="policy")


@pytest.mark.parametrize("where", ["terminal", "notebook", "file"])
def test_a_bar_is_one_line_and_a_file_gets_none(monkeypatch, where):
    stream = io.StringIO()
    stream.isatty = lambda: where == "terminal"
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    if where == "notebook":
        monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    show = progress_bar(itertools.count().__next__)
    show(0, 0, "compiling kernels")
    for done in (1, 2, 4):
        show(done, 4, "runs")
    if where == "file":
        assert stream.getvalue() == ""
        return
    _, compiling, *shown = stream.getvalue().split("\r")
    assert compiling == "compiling kernels ..."
    assert len(shown) == 3
    assert "25%" in shown[0]
    assert "left" not in shown[0]  # one chunk is no basis for an estimate
    assert shown[1].endswith("50%, about 2 s left")
    assert shown[-1].rstrip(" \n").endswith("] 100%")
    assert len(shown[-1]) == len(shown[1]) + 1  # nothing stays of the longer line
    assert stream.getvalue().count("\n") == 1


def test_true_asks_for_a_bar(monkeypatch):
    calls = []
    monkeypatch.setattr(_progress, "progress_bar", lambda: lambda *what: calls.append(what))
    latesum.compare(PROBLEM, {"flow": "flow"}, 200, replications=2, seed=1, progress=True)
    assert calls[-1] == (2, 2, "runs")


def test_boxes_cover_what_was_played():
    run = latesum.simulate(PROBLEM, latesum.ODAAF(2, 2_000, mean_delay=10), 2_000, seed=1)
    covered = np.zeros((2, 320), dtype=bool)
    for start, end, arm, _ in run._boxes():
        covered[arm, round(start * 320) : round(end * 320)] = True
    assert covered.any(axis=0).all()
    middles = (run.ends[:-1] + run.ends[1:]) / 2 / run.horizon
    assert covered[run.arms, (middles * 320).astype(int)].all()
