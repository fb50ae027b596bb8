"""The command line: what it prints, and how it refuses."""

import json

import pyarrow.parquet as pq
import pytest

COMPARE = [
    "compare",
    "--arms",
    "0.3,0.6",
    "--delay",
    "uniform(0,10)",
    "--policies",
    "odaaf,odaaf-b",
    "--horizon",
    "20000",
    "--replications",
    "4",
]


def test_compare_prints_a_table_and_writes_files(latesum, tmp_path):
    figure, runs = tmp_path / "figure.png", tmp_path / "runs.parquet"
    out = latesum(*COMPARE, "--plot", str(figure), "--out", str(runs), "--workers", "2").done()
    assert "odaaf-b" in out
    assert figure.exists()
    assert pq.read_table(runs)["policy"].unique().to_pylist() == ["odaaf", "odaaf-b"]


def test_compare_simulates_what_ran_before(latesum):
    """Rewards of an arm that ran until the start arrive in the first rounds: other runs, said so."""
    asked = ["--arms", "0.4,0.5", "--delay", "uniform(0,400)", "--policies", "flow"]
    asked += ["--horizon", "4000", "--replications", "8", "--bucket", "10", "--json"]
    regrets = {}
    for more in (
        (),
        ("--status-quo", "0"),
        ("--status-quo", "0.9"),
        ("--status-quo", "beta(6, 4)"),
        ("--status-quo", "0", "--history", "500"),
    ):
        out = latesum("compare", *asked, *more).done()
        found = json.loads(out)
        assert found["status_quo"] == (more[1] if more else None)
        assert found["history"] == (500 if "--history" in more else 0)
        regrets[more] = found["policies"][0]["mean"]
    assert len(set(regrets.values())) == len(regrets)


def test_policies_and_delays_are_described(latesum):
    assert "odaaf-v" in latesum("policies")[1]
    out = latesum("delays", "exponential(50)").done()
    assert "50.5" in out
    assert "█" in out


def test_version(latesum):
    assert latesum("--version")[1].startswith("latesum 1.")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([*COMPARE[:2], "0.5,good", *COMPARE[3:]], "not 'good'"),
        ([*COMPARE, "--status-quo", "yesterday"], "the number of an arm (0, 1, ...)"),
        ([*COMPARE, "--out", "no/such/folder/x.parquet"], "does not exist"),
        (["delays", "gamma(3)"], "there is no delay 'gamma'"),
        (["campain"], "campaign"),
    ],
)
def test_bad_input_ends_with_a_sentence_and_exit_code_2(latesum, arguments, sentence):
    latesum(*arguments).refused(sentence)
