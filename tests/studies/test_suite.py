"""The development suite: it resumes, is seeded, and counts the runs that are stuck."""

import pytest

from latesum._checks import InvalidInput
from suite import ENTRANTS, Entrant, rows_of, run_suite
from suite_problems import PROBLEMS, SuiteProblem

SHORT = {"two": SuiteProblem(PROBLEMS["two arms, exponential(50)"].problem, 20_000)}
SOME = {name: ENTRANTS[name] for name in ("flow", "qpm-d KL-UCB++")}


def test_rows_say_what_is_stuck_and_what_anonymity_costs(tmp_path):
    stubborn = {"stubborn": Entrant("oracle(best_arm=0)", 4), **SOME}
    results = run_suite(tmp_path, replications=4, problems=SHORT, entrants=stubborn)
    again = run_suite(tmp_path, replications=4, problems=SHORT, entrants=stubborn)
    rows = {row["policy"]: row for row in rows_of(results, stubborn)}
    assert rows_of(again, stubborn) == list(rows.values())
    # The order of the arms is drawn: the first one is the worse of the two in some of the runs.
    assert 0 < rows["stubborn"]["stuck"] < 4
    assert rows["flow"]["stuck"] == 0
    assert rows["qpm-d KL-UCB++"]["stuck"] is None
    ratio = rows["flow"]["mean"] / rows["qpm-d KL-UCB++"]["mean"]
    assert rows["flow"]["price"] == pytest.approx(ratio)


def test_a_misspelt_policy_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="can play none of the problems"):
        run_suite(tmp_path, problems=SHORT, entrants={"fow": Entrant("fow", 2)})
