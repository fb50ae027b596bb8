"""Schemathesis explores the interface by its description: no 5xx, no answer that is not described."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from service_process import ServiceProcess
from service_settings import SETTINGS

from latesum.campaigns import Campaign, Store
from latesum.service import Tokens

#: A record may be well formed and still be refused, with 422, because of what the campaign is.
_CHECKS = ["--checks", "all", "--exclude-checks", "positive_data_acceptance"]


def explore_and_check(folder, examples, phases, configuration=""):
    """Run it; names that it invents itself are among the campaigns, so that it gets somewhere."""
    tool = Path(sys.executable).parent / "schemathesis"
    if not tool.exists():
        found = shutil.which("schemathesis")
        if found is None:
            pytest.skip("Schemathesis is not installed.")
        tool = Path(found)
    with Store(folder / "campaigns.db") as store:
        secret = Tokens(store).new("explorer", "admin")
        for name in ("first", "0"):
            config = {**SETTINGS, "options": ["0", "1"]}
            Campaign.create(name=name, **config, store=store).decide()
        Campaign.create(
            name="regional",
            options=["0", "1"],
            regions=["0", "north"],
            every="day",
            expected_rounds=1000,
            parameters={"horizon": "8 weeks", "late": "about 2 days"},
            time_basis="arrival",
            status_quo="0",
            seed=1,
            store=store,
        ).decide_all()
    (folder / "schemathesis.toml").write_text(configuration)
    with ServiceProcess(folder / "campaigns.db") as service:
        command = [
            tool,
            "run",
            f"{service.url}/v1/openapi.json",
            *_CHECKS,
            "--phases",
            phases,
            "-H",
            f"Authorization: Bearer {secret}",
            "--max-examples",
            str(examples),
            "--seed",
            "1",
            "--no-color",
            "--continue-on-failure",
            "--request-timeout",
            "150",
            "--max-response-time",
            "150",  # a plan waits until its process has begun
        ]
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-8000:] + result.stderr[-2000:]
    assert " passed" in result.stdout
    return result.stdout


def test_no_undescribed_answer(tmp_path):
    """About campaigns that exist, and one that does not; names that it invents are in the slow tests."""
    names = '[parameters]\n"path.campaign" = ["first", "0", "no-such"]\n'
    explore_and_check(tmp_path, 2, "fuzzing", names)


@pytest.mark.slow
def test_no_undescribed_answer_in_many_examples(tmp_path):
    explore_and_check(tmp_path, 60, "examples,coverage,fuzzing")


@pytest.mark.slow
def test_no_undescribed_answer_about_a_campaign_in_many_examples(tmp_path):
    configuration = '[parameters]\n"path.campaign" = ["first", "0"]\n"path.bucket" = "1"\n'
    explore_and_check(tmp_path, 60, "coverage,fuzzing", configuration)


@pytest.mark.slow
def test_no_undescribed_answer_about_a_campaign_with_regions_in_many_examples(tmp_path):
    configuration = '[parameters]\n"path.campaign" = ["regional"]\n"path.region" = ["0", "north"]\n'
    explore_and_check(tmp_path, 60, "coverage,fuzzing", configuration)
