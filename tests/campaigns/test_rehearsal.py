"""The rehearsal of `examples/rehearsal/`: sixty days of a shop, at whose end every total is used."""

import pytest

from latesum.campaigns.moving import replay_log


def test_after_sixty_days_of_daily_life_every_total_is_used(load_example, tmp_path):
    rehearsal = load_example("rehearsal", "rehearse")
    worries = {}
    for number, campaign in enumerate(rehearsal.rehearse(tmp_path), start=1):
        found = [each for each in campaign.health() if each.level != "note"]
        if found:
            worries[number] = {each.code for each in found}
        if number == 61:
            table = campaign.table().to_records()
            decided = list(campaign.state().decisions.values())
            acts = [event.kind for event in campaign.history() if event.bucket is None]
            mismatches = replay_log(campaign.first_config, campaign.history())
            parameters = campaign.config.parameters
            status = campaign.status()
    # Every total is used, and is what was booked: the curve makes up for what is not reported yet.
    assert len(table) == 60
    assert {row["state"] for row in table} == {"known"}
    assert all(row["used_total"] >= row["total"] > 0 for row in table)
    assert all(row["used_total"] == row["total"] for row in table[:50])
    assert all(row["revisions"] >= 3 for row in table[:50])
    # Totals are scaled up by their completeness, so something is always learned.
    assert worries == {}
    # What was added is shown next, what was removed is not shown, and all of it is in the log.
    shown = [decision.option for decision in decided]
    assert shown[19] == "a voucher"
    assert "a voucher" not in shown[:19]
    assert "free shipping" not in shown[29:34]
    assert acts == [
        "file form",
        "add-option",
        "remove-option",
        "restore-option",
        "change",
        "change",
    ]
    assert parameters["horizon"] == 60 * 4_600
    assert 0.8 < parameters["mean_delay"] / 4_600 < 1.2  # it was told as two days
    assert mismatches == []
    assert shown[-1] == "a voucher"
    assert status.options[3].mean == pytest.approx(3.9, rel=0.05)
