"""What a campaign advises, day by day, from the command line."""

import json
import shlex
from datetime import date, timedelta

import pytest

START = date(2026, 3, 2)


@pytest.fixture
def morning(campaign):
    """Run a campaign command on the morning of a day, counted from the start."""
    return lambda day, *arguments: campaign(*map(str, arguments), day=label(day))


def label(day):
    """A day, counted from the start, as people write it."""
    return (START + timedelta(days=day)).isoformat()


def begin(morning, policy, late, *more):
    """Set up a campaign of two options, for 60 days."""
    common = (
        "new offers --options 'free shipping,a gift' --start 2026-03-02 --run-for '60 days' "
        "--status-quo 'free shipping' --time-basis arrival"
    )
    rounds = () if "--expected-rounds" in more else ("--expected-rounds", 5000)
    morning(0, *shlex.split(common), "--policy", policy, "--late", late, *rounds, *more)


def ask(morning, day):
    """What `next` answers on a day, with the totals of all days before it."""
    out = morning(day, "next", "--json").done()
    return json.loads(out)


def test_a_decision_that_was_due_is_taken_at_the_next_question(morning):
    """Asked on the days between its decision days, switchback still changes the option."""
    begin(morning, "switchback", "about 1 day", "--seed", 1)
    first = ask(morning, 0)
    other = json.loads(morning(0, "status", "--json")[1])["options"][1 - first["arm"]]
    assert other["mean"] is None  # it was never shown
    last = date.fromisoformat(first["reason"].split("including ")[1][:10])
    due = (last - START).days + 1
    late = ask(morning, due + 1)  # no one asked on the day itself
    assert late["option"] != first["option"]
    assert "decided again" not in late["reason"]
    # The new choice stays as long as any other, and is decided on again at the first question after that.
    assert ask(morning, 2 * due)["option"] == late["option"]
    assert "decided again" not in ask(morning, 2 * due + 2)["reason"]
    morning(2 * due + 2, "replay").done()


def test_next_announces_the_winner_and_finish_keeps_it(morning, tmp_path):
    """One option sells four times as much: `next` says so, no finding doubts it, and `finish` needs no reason."""
    begin(morning, "unmix", "1 hour")
    morning(0, "finish").refused("no winner is named yet")
    winner, day = ask(morning, 0)["winner"], 0
    assert winner is None
    while winner is None and day < 40:
        shown = ask(morning, day)["option"]
        total = 1200 if shown == "a gift" else 300
        day += 1
        assert morning(day, "record", label(day - 1), "--rounds", 5000, "--total", total)[0] == 0
        winner = ask(morning, day)["winner"]
    assert winner == "a gift"
    assert "The winner is a gift" in morning(day, "next")[1]
    status = json.loads(morning(day, "status", "--json")[1])
    assert status["winner"] == "a gift"
    morning(day, "finish", "free shipping").refused("the winner is a gift")
    assert morning(day, "finish")[1] == "Finished with a gift.\n"
    said = ask(morning, day + 1)
    assert (said["option"], said["source"], said["winner"]) == ("a gift", "finished", None)


def test_a_block_is_whole_days_and_no_day_goes_to_a_remainder(morning):
    """Days have 1% fewer visitors than expected: what is left of a block after them is not worth a day."""
    begin(morning, "unmix", "2 days", "--expected-rounds", 7875, "--seed", 1)
    for day in range(14):
        said = ask(morning, day)
        assert said["rounds"] >= 1_500  # a fifth of a day may be planned, the missing 75 never
        assert " rounds" not in said["reason"]
        assert " day" in said["reason"]
        total = 208 if said["option"] == "a gift" else 187
        morning(day + 1, "record", label(day), "--rounds", 7800, "--total", total)
    assert "7,8" not in morning(14, "explain")[1].splitlines()[-1]
    assert morning(14, "replay")[0] == 0


RESTATED = (0.94, 0.985, 1.0)  # of a total, on the three mornings after its day


def report_of(day, file):
    """The whole report on the morning of a day: totals are restated for two days."""
    rows = [
        f"{label(each)},5000,{round(200 * RESTATED[min(day - each, 3) - 1])}" for each in range(day)
    ]
    file.write_text("\n".join(["date,rounds,total", *rows]))
    return file


def test_totals_that_are_restated_for_two_days_need_nothing(morning, tmp_path):
    """The how-to says: send the whole report every day. No warning says otherwise."""
    begin(morning, "unmix", "1 day")
    for day in range(8):
        said = ask(morning, day)
        assert "old totals grow" not in [each["code"] for each in said["health"]]
        assert morning(day + 1, "import", report_of(day + 1, tmp_path / "report.csv"))[0] == 0


def test_a_change_says_what_it_does_to_totals_before_it_does_it(morning, tmp_path):
    """Totals that count go on counting on a curve; a change that stops them says so first."""
    begin(morning, "unmix", "1 day")
    for day in range(7):
        ask(morning, day)
        assert morning(day + 1, "import", report_of(day + 1, tmp_path / "report.csv"))[0] == 0
    change = ("change", "--completeness", "1 hour: 0.8, 7 days: 1", "--reason", "they fill up")
    out = morning(7, *change, "--dry-run").done()
    assert out.endswith("Nothing was changed.\n")
    assert "completeness" not in morning(7, "history")[1]
    assert "will count only when full" not in morning(7, *change).done()
    said = ask(morning, 7)
    assert said["alarm"] is None
    assert "nothing is known" not in said["reason"]
    states = [row["state"] for row in json.loads(morning(7, "status", "--json")[1])["timeline"]]
    assert states[:7] == ["known"] * 7
    stops = ("change", "--completeness", "10 days: 1", "--reason", "a test")
    out = morning(7, *stops, "--dry-run").done()
    assert "7 known totals will count only when full." in out
