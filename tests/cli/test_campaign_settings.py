"""CampaignConfig: one model for Python, the command line and HTTP, and stores that keep it unchanged."""

import json

import pytest

from latesum import InvalidInput
from latesum.campaigns.config import CampaignConfig

GIVEN = {
    "name": "banner",
    "options": ["A", "B"],
    "policy": "odaaf",
    "parameters": {"horizon": "90 days", "mean_delay": "36 hours"},
    "every": "day",
    "start": "2026-03-01",
    "expected_rounds": 5000,
    "time_basis": "arrival",
    "seed": 1,
}
#: Wrong config, and what is said about them wherever they are given.
WRONG = {
    "options": (["A"], "give two options or more, up to 100, not ['A']."),
    "every": ("month", "there is no kind of bucket 'month'"),
    "expected_rounds": (0, "the expected rounds of a bucket must be a whole number of at least 1"),
    "zone": ("Mars", "there is no time zone 'Mars'"),
    "policy": ("odaff", "there is no policy 'odaff'; did you mean 'odaaf'?"),
    "completeness": ("soon", "completeness is a share for each age"),
    "align": ("year", "align is 'week'"),
    "time_basis": ("birth", "say by which time your totals are dated"),
    "start": ("01/02/2026", "'01/02/2026' is not a date that can be read without guessing"),
    "unit": ("", "the unit is a text of 1 to 100 characters"),
}


@pytest.mark.parametrize("field", WRONG)
def test_python_and_the_command_line_refuse_in_the_same_words(field, latesum, tmp_path):
    value, sentence = WRONG[field]
    with pytest.raises(InvalidInput) as refused:
        CampaignConfig.read({**GIVEN, field: value})
    assert str(refused.value).startswith(sentence)
    given = {**GIVEN, field: value}
    name, parameters = given.pop("name"), given.pop("parameters")
    arguments = ["campaign", "--store", str(tmp_path / "x.db"), "new", name]
    for key, each in given.items():
        text = ",".join(each) if isinstance(each, list) else str(each)
        arguments += [f"--{key.replace('_', '-')}", text]
    for key, each in parameters.items():
        arguments += ["--parameter", f"{key}={each}"]
    code, _, err = latesum(*arguments)
    assert code == 2
    assert " ".join(str(refused.value).split()) in " ".join(err.split())


def test_what_is_missing_or_unknown_is_named():
    for field in ("options", "expected_rounds", "time_basis"):
        with pytest.raises(InvalidInput, match=field):
            CampaignConfig.read({key: value for key, value in GIVEN.items() if key != field})
    with pytest.raises(InvalidInput, match="no field 'zon'; did you mean 'zone'"):
        CampaignConfig.read({**GIVEN, "zon": "UTC"})


@pytest.mark.parametrize(
    "completeness",
    [
        None,
        "1 day: 0.6, 7 days: 1",
        {"1 day": 0.6, "7 days": 1},
        {"1,000 hours": 0.5, "2 months": 1},
    ],
)
def test_what_is_kept_means_the_same(completeness):
    more = {
        "completeness": completeness,
        "align": "week",
    }
    config = CampaignConfig.read({**GIVEN, **more})
    back = CampaignConfig.from_json(json.loads(json.dumps(config.to_json())))
    assert back == config
    assert back.buckets == config.buckets


def test_settings_cannot_be_changed():
    config = CampaignConfig.read(GIVEN)
    with pytest.raises(ValueError, match="frozen"):
        config.seed = 2
