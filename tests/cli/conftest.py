"""Commands of campaigns that are kept in a folder of the test's own."""

import pytest

#: Sets up a campaign with two options.
NEW = [
    "new",
    "banner",
    "--options",
    "red,blue",
    "--policy",
    "odaaf",
    "--parameter",
    "horizon=90 days",
    "--parameter",
    "mean_delay=12 hours",
    "--expected-rounds",
    "5000",
    "--time-basis",
    "arrival",
    "--start",
    "2026-03-02",
]


@pytest.fixture
def campaign(latesum, monkeypatch, tmp_path, store_file):
    """Run a campaign command at a given day and hour: its exit code, output and errors.

    The store is there already, without campaigns; how it is made is tested with the first command of all.
    """
    (tmp_path / "data").mkdir()
    store_file("data/campaigns.db")
    monkeypatch.setenv("LATESUM_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("LATESUM_DATABASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    return lambda *arguments, day="2026-03-02", hour="08:00": latesum(
        "campaign", "--now", f"{day} {hour}", *arguments
    )
