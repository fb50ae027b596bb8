"""The command line: what it prints, and how it refuses."""

import json

import pyarrow.parquet as pq
import pytest

COMPARE = [
    "compare", "--arms", "0.3,0.6", "--delay", "uniform(0,10)", "--policies", "odaaf,odaaf-b",
    "--horizon", "20000", "--replications", "4",
]  # fmt: skip


@pytest.fixture
def run(latesum):
    return latesum


def test_compare_prints_a_table_and_writes_files(run, tmp_path):
    figure, runs = tmp_path / "figure.png", tmp_path / "runs.parquet"
    code, out, _ = run(*COMPARE, "--plot", str(figure), "--out", str(runs), "--workers", "2")
    assert code == 0
    assert "odaaf-b" in out
    assert figure.exists()
    assert pq.read_table(runs)["policy"].unique().to_pylist() == ["odaaf", "odaaf-b"]


def test_compare_as_json(run):
    code, out, _ = run(*COMPARE, "--json")
    assert code == 0
    assert [row["policy"] for row in json.loads(out)["policies"]] == ["odaaf", "odaaf-b"]


def test_compare_simulates_what_ran_before(run):
    """Rewards of an arm that ran until the start arrive in the first rounds: other runs, said so."""
    asked = ["--arms", "0.4,0.5", "--delay", "uniform(0,400)", "--policies", "flow"]
    asked += ["--horizon", "4000", "--replications", "8", "--bucket", "10", "--json"]
    regrets = {}
    for more in ((), ("--status-quo", "0"), ("--status-quo", "0.9"), ("--status-quo", "beta(6, 4)"),
                 ("--status-quo", "0", "--history", "500")):  # fmt: skip
        code, out, err = run("compare", *asked, *more)
        assert code == 0, err
        found = json.loads(out)
        assert found["status_quo"] == (more[1] if more else None)
        assert found["history"] == (500 if "--history" in more else 0)
        regrets[more] = found["policies"][0]["mean"]
    assert len(set(regrets.values())) == len(regrets)


def test_policies_and_delays_are_described(run):
    assert "odaaf-v" in run("policies")[1]
    code, out, _ = run("delays", "exponential(50)")
    assert code == 0
    assert "50.5" in out
    assert "█" in out


def test_version(run):
    assert run("--version")[1].startswith("latesum 1.")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([*COMPARE[:2], "0.5", *COMPARE[3:]], "at least 2 arms"),
        ([*COMPARE[:2], "0.5,1.5", *COMPARE[3:]], "at most 1"),
        ([*COMPARE[:2], "0.5,good", *COMPARE[3:]], "not 'good'"),
        ([*COMPARE[:4], "unifrom(0,10)", *COMPARE[5:]], "did you mean 'uniform'"),
        ([*COMPARE[:6], "odaf", *COMPARE[7:]], "did you mean 'odaaf'"),
        ([*COMPARE[:8], "0", *COMPARE[9:]], "horizon"),
        ([*COMPARE, "--status-quo", "yesterday"], "the number of an arm (0, 1, ...)"),
        ([*COMPARE, "--status-quo", "2"], "no arm 2"),
        ([*COMPARE, "--history", "100"], "a history needs status_quo"),
        ([*COMPARE, "--out", "no/such/folder/x.parquet"], "does not exist"),
        (["delays", "gamma(3)"], "there is no delay 'gamma'"),
    ],
)
def test_bad_input_ends_with_a_sentence_and_exit_code_2(run, arguments, sentence):
    code, _, err = run(*arguments)
    assert code == 2
    assert sentence in err
    assert "Traceback" not in err


def test_demo(run, tmp_path):
    code, out, _ = run("demo", "--out", str(tmp_path / "demo"), "--replications", "2")
    assert code == 0
    assert "oracle" in out
    assert (tmp_path / "demo" / "regret.png").exists()
    assert "Figure 3a" in out
