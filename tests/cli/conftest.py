"""Commands of campaigns that are kept in a folder of the test's own."""

import pytest


@pytest.fixture
def campaign(latesum, monkeypatch, tmp_path):
    """Run a campaign command at a given day and hour: its exit code, output and errors."""
    monkeypatch.setenv("LATESUM_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("LATESUM_DATABASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    return lambda *arguments, day="2026-03-02", hour="08:00": latesum(
        "campaign", "--now", f"{day} {hour}", *arguments
    )
