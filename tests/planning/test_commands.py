"""`latesum plan` and `latesum delays fit`."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

import latesum
from latesum.cli import main

EXAMPLES = Path(latesum.__file__).parent / "delays" / "data"
ASKED = shlex.split(
    'plan --options 2 --rate 0.1 --lift 40% --traffic "1000 per day" --late "8 hours" --run-for '
    '"8 weeks" --policies "quarter test,half test" --replications 20 --workers 1'
)


def run(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["latesum", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    captured = capsys.readouterr()
    return ended.value.code or 0, captured.out, captured.err


def test_plan_writes_what_it_prints(monkeypatch, capsys, tmp_path):
    page, data = tmp_path / "plan.html", tmp_path / "plan.json"
    code, out, _ = run(monkeypatch, capsys, *ASKED, "--out", page, "--out", data)
    assert code == 0
    assert out.startswith("GO")
    assert "If the inputs are wrong" in out
    assert page.read_text().startswith("<!doctype html>")
    assert json.loads(data.read_text())["verdict"]["answer"] == "go"
    code, out, _ = run(monkeypatch, capsys, *ASKED, "--json", "--quick")
    assert code == 0
    assert json.loads(out)["sensitivity"] == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([*ASKED, "--out", "plan.pdf"], ".html or .json"),
        ([*ASKED, "--out", "no/such/folder/plan.html"], "does not exist"),
        ([*ASKED, "--bucket", "days"], "did you mean 'day'?"),
        (["delays", "fit"], "say which file"),
        (["delays", "fit", "no-such-file.csv"], "there is no file"),
        (["delays", "exponential(50)", "file.csv"], "did you mean: latesum delays fit file.csv"),
    ],
)
def test_nonsense_ends_with_a_sentence_and_exit_code_2(monkeypatch, capsys, words, says):
    code, _, err = run(monkeypatch, capsys, *words)
    assert code == 2
    assert says in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "words",
    [["delays.csv", "--unit", "hour"], ["histogram.csv", "--unit", "day"], ["triangle.csv"]],
)
def test_every_kind_of_data_is_fitted(monkeypatch, capsys, words, tmp_path):
    file, *options = words
    picture = tmp_path / "fit.svg"
    code, out, _ = run(
        monkeypatch, capsys, "delays", "fit", EXAMPLES / file, *options, "--plot", picture
    )
    assert code == 0
    assert "mean" in out
    assert picture.exists()
    code, out, _ = run(monkeypatch, capsys, "delays", "fit", EXAMPLES / file, *options, "--json")
    assert json.loads(out)["mean"]["low"] < json.loads(out)["mean"]["high"]


def test_a_delay_as_text_still_works(monkeypatch, capsys):
    code, out, _ = run(monkeypatch, capsys, "delays", "uniform(0, 100)")
    assert code == 0
    assert "100" in out
