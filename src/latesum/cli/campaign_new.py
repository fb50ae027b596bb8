"""`latesum campaign new`: the fields of a campaign's config as options, all of them texts."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from latesum._checks import InvalidInput
from latesum.campaigns.config import CampaignConfig
from latesum.cli.campaign_options import clock, opened_store, read_text, user_name
from latesum.cli.options import FILE_OPTIONS, take_form, with_options

#: Fields of a campaign's configuration as options, and what they mean.
_MEANINGS = {
    **{
        name: field.description or ""
        for name, field in CampaignConfig.model_fields.items()
        if name not in ("name", "parameters")
    },
    "options": "The options, separated by commas; needed.",
    "regions": "Regions that show options of their own, separated by commas.",
    "history": "A file of totals before the start, with the columns of `import`.",
}
#: Parameters of the policy, as people say them.
RunFor = Annotated[
    str | None, typer.Option(help="How long it is planned to run, such as '12 weeks'.")
]
Late = Annotated[
    str | None, typer.Option(help="How late sales come: '2 days', or as a guess 'about 2 days'.")
]
Parameters = Annotated[
    list[str] | None, typer.Option(help='Of the policy: "novelty=0.01"; may be repeated.')
]
#: What a campaign without regions can have, by its label in a plan.
_CAN_RUN = ("switchback", "unmix", "flow")
#: Where no policy is said, it is chosen with this lift and so many runs of each.
_LIFT, _RUNS = 0.1, 40


def fields(names: Iterable[str] = tuple(_MEANINGS)) -> dict[str, Any]:
    """An option for each of these fields."""
    return {
        name: Annotated[str | None, typer.Option(help=meaning)]
        for name, meaning in _MEANINGS.items()
        if name in names
    }


def _new_campaign(
    name: Annotated[str, typer.Argument(help="Letters, digits, dots and dashes.")],
    run_for: RunFor = None,
    late: Late = None,
    plan: Annotated[
        Path | None, typer.Option(help="The policy and parameters, from `latesum plan --json`.")
    ] = None,
    parameter: Parameters = None,
    **given: Any,
) -> None:
    """Set up a campaign. How its files are written may be said here or at the first import.

    Example: latesum campaign new banner --options "red,blue" --every day --expected-rounds 5000
    --time-basis arrival --run-for "12 weeks" --late "about 2 days"
    """
    from latesum.campaigns import Campaign
    from latesum.files import FileForm
    from latesum.files.totals import read_history

    form = take_form(given).after(FileForm())
    past = given.pop("history", None)
    config = read_fields(given)
    if plan is not None:
        config = _planned(plan, config)
        if past is None and "regions" in config:
            print("Note: say --history too, with the file that was planned from.")
    if past is not None:
        read = read_history(
            Path(past),
            form,
            time_basis=config.get("time_basis"),
            regions=bool(config.get("regions")),
        )
        for note in read.notes:
            print(note)
        config["history"] = [row.as_history() for row in read.rows]
        form = read.form
        rounds = [row.rounds for row in read.rows if row.rounds is not None]
        if "expected_rounds" not in config and rounds:
            config["expected_rounds"] = max(1, round(sum(rounds) / len(rounds)))
    chosen = _choose_policy(config, run_for, late)
    if chosen is not None:
        config["policy"], why = chosen
        print(f"Policy: {config['policy']}, because {why}")
    parameters = {**config.pop("parameters", {}), **read_parameters(parameter, run_for, late)}
    if "expected_rounds" not in config:
        raise InvalidInput("say how many --expected-rounds a bucket has.")
    with opened_store() as store:
        made = Campaign.create(name=name, parameters=parameters, **config, store=store, clock=clock)
        if not form.says_nothing:
            made.remember_file_form(form, user=user_name(None), reason="the campaign was set up so")
        found = made.config
        told = ", ".join(
            f"{key}={value}"
            if isinstance(value, bool) or not isinstance(value, int | float)
            else f"{key}={value:,}"
            for key, value in found.parameters.items()
        )
        where = f" in {', '.join(found.regions)}" if found.regions else ""
        print(f"Campaign {name}: {', '.join(found.options)}{where}; {found.policy} with {told}.")
        print(f"It is kept in {store.place}.")
        if found.note is not None:
            print(f"Note: {found.note}")
        if found.time_basis == "decision" and not found.is_market:
            print(f"Warning: {made.status().health[0].sentence}")
        for each in made.health():
            if each.code == "noisy demand":  # before anything is lost by it
                print(f"Warning: {each.text}")


new_campaign = with_options(_new_campaign, {**fields(), **FILE_OPTIONS})


def _choose_policy(
    config: Mapping[str, Any], run_for: str | None, late: str | None
) -> tuple[str, str] | None:
    """The policy that loses least in markets like the history, and why; None where it is said.

    It is asked where there are a history by day, no policy and no regions (those have switchback).
    """
    if not config.get("history") or config.get("policy") or config.get("regions"):
        return None
    why = None
    if config.get("every", "day") != "day":
        why = "the history is not by day."
    elif config.get("time_basis") == "decision":
        why = "totals are dated by decision."
    elif config.get("range") not in (None, (0.0, 1.0)):
        why = "totals are no counts."
    elif len({row.get("shown") for row in config["history"]}) > 1:
        why = "the history shows several options."
    else:
        from latesum.planning import plan

        try:
            found = plan(
                history=config["history"],
                options=len(config["options"]),
                lift=_LIFT,
                late=late or "about 1 day",
                run_for=run_for or "90 days",
                sensitivity=False,
                replications=_RUNS,
                workers=os.cpu_count() or 1,
            )
        except InvalidInput as refusal:
            why = str(refusal)
    if why is not None:
        return "unmix", f"it was not chosen by simulation: {why}"
    lost = {
        row.label: row.regret.value / (row.reward.value + row.regret.value) for row in found.rows
    }
    best = min(_CAN_RUN, key=lost.__getitem__)
    others = ", ".join(f"{name} {share:.1%}" for name, share in lost.items() if name != best)
    return best, (
        f"in {_RUNS} simulated markets like the history, with one option {_LIFT:.0%} better, it "
        f"loses {lost[best]:.1%} of the best option's sales ({others})."
    )


def read_fields(given: Mapping[str, str | None]) -> dict[str, Any]:
    """The fields that were given, read from their texts."""
    return {key: _READ.get(key, str)(text) for key, text in given.items() if text is not None}


def read_parameters(
    given: list[str] | None, run_for: str | None = None, late: str | None = None
) -> dict[str, Any]:
    """The parameters of a policy, from texts such as "horizon=90 days"."""
    said = {"horizon": run_for, "late": late}
    found: dict[str, Any] = {key: text for key, text in said.items() if text is not None}
    for text in given or []:
        key, equals, value = text.partition("=")
        if not equals:
            raise InvalidInput(
                f"--parameter takes name=value, such as horizon=90000, not {text!r}."
            )
        found[key.strip().replace("-", "_")] = _value(value.strip())
    return found


def _planned(path: Path, given: dict[str, Any]) -> dict[str, Any]:
    """The config that a plan recommends, with what was given besides."""
    text = read_text(path)
    try:
        planned = json.loads(text)
        handed: dict[str, Any] = dict(planned.get("recommendation", planned))
        parameters = dict(handed["parameters"])
        policy = str(handed["policy"])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InvalidInput(f"{path} holds no plan: it needs 'policy' and 'parameters'.") from None
    n_options = len(given.get("options", []))
    planned_options = parameters.pop("n_arms", n_options)
    parameters.pop("names", None)
    if planned_options != n_options:
        raise InvalidInput(
            f"{path} is a plan for {planned_options} options, and here are {n_options}; plan again."
        )
    config: dict[str, Any] = {"policy": policy, "parameters": parameters, **given}
    if "n_regions" in handed:
        config["regions"] = _planned_regions(path, handed, given)
    if "reason" in handed and "policy" not in given:
        print(f"Policy: {policy}, because {handed['reason']}.")
    verdict = planned.get("verdict", {}) if isinstance(planned, dict) else {}
    if verdict.get("answer") == "no-go":
        print(f"Warning: {path} is a no-go, and is set up all the same. {verdict['reason']}")
    if "expected_rounds" not in given and "bucket" in handed:
        every, planned_every = given.get("every", "day"), handed.get("every")
        if planned_every not in (None, every):
            raise InvalidInput(
                f"{path} is by {planned_every}, and this campaign is by {every}; use --every "
                f"{planned_every}, or plan again with --bucket {every}."
            )
        config["expected_rounds"] = handed["bucket"]
    if "range" not in given and "scale" in handed:
        config["range"] = (handed["scale"]["low"], handed["scale"]["high"])
    return config


def _planned_regions(path: Path, handed: dict[str, Any], given: dict[str, Any]) -> list[str]:
    """The regions of a plan that was made from a history, or those that were given."""
    planned, said = handed["n_regions"], given.get("regions")
    if said is None and planned > 1 and not handed["regions"]:
        raise InvalidInput(f"{path} is a plan for {planned} regions; name them with --regions.")
    named = list(handed["regions"] if said is None else said)
    if max(len(named), 1) != planned:
        raise InvalidInput(
            f"{path} is a plan for {planned} region{'s' * (planned > 1)}, and here are "
            f"{len(named)}; plan again."
        )
    return named


def _value(text: str) -> Any:
    """A number or a truth value as JSON has it; otherwise the text."""
    try:
        return json.loads(text.replace("_", ""))
    except json.JSONDecodeError:
        return text


def _pair(text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidInput(f"--range takes two numbers, such as 0,250, not {text!r}.") from None
    return low, high


def _curve(text: str) -> dict[str, float] | str:
    if ":" not in text:
        return text
    try:
        pairs = [part.split(":") for part in text.split(",")]
        return {age.strip(): float(share) for age, share in pairs}
    except ValueError:
        raise InvalidInput(
            f"--completeness takes ages and shares, such as '1 day: 0.6, 7 days: 1', not {text!r}."
        ) from None


#: How the text of an option is read, where it is not a text.
_READ: Mapping[str, Callable[[str], Any]] = {
    "options": lambda text: [each.strip() for each in text.split(",")],
    "regions": lambda text: [each.strip() for each in text.split(",")],
    "expected_rounds": _value,
    "range": _pair,
    "completeness": _curve,
    "align": _value,
    "seed": _value,
}
