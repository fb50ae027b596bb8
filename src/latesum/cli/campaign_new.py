"""`latesum campaign new`: the fields of a campaign's config as options, all of them texts."""

from __future__ import annotations

import json
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
RunFor = Annotated[str | None, typer.Option(help="How long it is to run, such as '12 weeks'.")]
Late = Annotated[
    str | None,
    typer.Option(
        help="How late sales come: '2 days', 'about 2 days' (a guess), 'half within 2 hours, 95% "
        "within 3 days'."
    ),
]
Parameters = Annotated[
    list[str] | None, typer.Option(help='Of the policy: "novelty=0.01"; may be repeated.')
]
#: Where no policy is given, it is chosen with this lift and number of runs of each.
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

    form = take_form(given)
    file = given.pop("history", None)
    config = read_fields(given)
    if plan is not None:
        config = _planned(plan, config)
        if file is None and "regions" in config:
            print("Note: say --history too, with the file that was planned from.")
    if file is not None:
        form = _add_history(config, Path(file), form)
        if not config.get("policy") and not config.get("regions"):  # those have switchback
            config["policy"], why = _choose_policy(config, run_for, late)
            print(f"Policy: {config['policy']}, because {why}")
    if "expected_rounds" not in config:
        raise InvalidInput("say how many --expected-rounds a bucket has.")
    config["parameters"] = {
        **config.get("parameters", {}),
        **read_parameters(parameter, run_for, late),
    }
    with opened_store() as store:
        made = Campaign.create(name=name, **config, store=store, clock=clock)
        if form is not None and form != made.state().file_form:
            made.remember_file_form(form, user=user_name(None), reason="the campaign was set up so")
        found = made.config
        formats = {int: ",", float: ",.6g"}
        shown = ", ".join(
            f"{key}={value:{formats.get(type(value), '')}}"
            for key, value in found.parameters.items()
        )
        policy = f"{found.policy} with {shown}" if shown else found.policy
        where = f" in {', '.join(found.regions)}" if found.regions else ""
        print(f"Campaign {name}: {', '.join(found.options)}{where}; {policy}.")
        print(f"It is kept in {store.place}.")
        if found.note is not None:
            print(f"Note: {found.note}")
        if found.time_basis == "decision" and not found.is_market:
            print(f"Warning: {made.status().health[0].sentence}")
        for each in made.health():
            if each.code == "noisy demand":  # before anything is lost by it
                print(f"Warning: {each.text}")


new_campaign = with_options(_new_campaign, {**fields(), **FILE_OPTIONS})


def _add_history(config: dict[str, Any], file: Path, form: Any) -> Any:
    """Put the rows of a file into the configuration; how it is written."""
    from latesum.files.totals import read_history

    regions = bool(config.get("regions"))
    read = read_history(file, form, regions=regions)
    for note in read.notes:
        print(note)
    config["history"] = [row.as_history() for row in read.rows]
    rounds = [row.rounds for row in read.rows if row.rounds is not None]
    if rounds:
        config.setdefault("expected_rounds", max(1, round(sum(rounds) / len(rounds))))
    return read.form


def _choose_policy(
    config: Mapping[str, Any], run_for: str | None, late: str | None
) -> tuple[str, str]:
    """The policy that a plan recommends for markets like the history, and why."""
    from latesum.planning import plan

    try:
        if config.get("every", "day") != "day":
            raise InvalidInput("the history is not by day.")
        if config.get("time_basis") == "decision":
            raise InvalidInput("totals are dated by decision.")
        if config.get("range") not in (None, (0.0, 1.0)):
            raise InvalidInput("totals are no counts.")
        if len({row.get("shown") for row in config["history"]}) > 1:
            raise InvalidInput("the history shows several options.")
        found = plan(
            history=config["history"],
            options=len(config["options"]),
            lift=_LIFT,
            late=late or "about 1 day",
            run_for=run_for or "90 days",
            sensitivity=False,
            replications=_RUNS,
        )
    except InvalidInput as refusal:
        return "unmix", f"it was not chosen by simulation: {refusal}"
    return found.recommended.candidate.spec.name, (
        f"in {_RUNS} simulated markets like the history, with one option {_LIFT:.0%} better, "
        f"{found.reason}."
    )


def _planned(path: Path, given: dict[str, Any]) -> dict[str, Any]:
    """The config that a plan recommends, with what was given besides."""
    text = read_text(path)
    try:
        planned = json.loads(text)
        handed: dict[str, Any] = dict(planned["recommendation"])
        policy, parameters = str(handed["policy"]), dict(handed["parameters"])
    except (ValueError, KeyError, TypeError):
        raise InvalidInput(f"{path} is not a plan; `latesum plan --json` writes one.") from None
    every, n_options = given.get("every", "day"), len(given.get("options", []))
    if parameters.pop("n_arms", n_options) != n_options:
        raise InvalidInput(f"{path} is not a plan for {n_options} options; plan again.")
    if handed.get("every", every) != every:
        raise InvalidInput(
            f"{path} is by {handed['every']}, and this campaign is by {every}; use --every "
            f"{handed['every']}, or plan again with --bucket {every}."
        )
    if "reason" in handed and "policy" not in given:
        print(f"Policy: {policy}, because {handed['reason']}.")
    if planned.get("verdict", {}).get("answer") == "no-go":
        reason = planned["verdict"]["reason"]
        print(f"Warning: {path} is a no-go, and is set up all the same. {reason}")
    config = {"policy": policy, "parameters": parameters, **given}
    if "n_regions" in handed:
        count = handed["n_regions"]
        config["regions"] = given.get("regions", handed["regions"])
        if count > 1 and not config["regions"]:
            raise InvalidInput(f"{path} is a plan for {count} regions; name them with --regions.")
        if max(len(config["regions"]), 1) != count:
            raise InvalidInput(
                f"{path} is a plan for {count} region{'s' * (count > 1)}, and here are "
                f"{len(config['regions'])}; plan again."
            )
    if "bucket" in handed:
        config.setdefault("expected_rounds", handed["bucket"])
    if "scale" in handed:
        config.setdefault("range", (handed["scale"]["low"], handed["scale"]["high"]))
    return config


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


def _value(text: str) -> Any:
    """A number or a truth value as JSON has it; otherwise the text."""
    try:
        return json.loads(text.replace("_", ""))
    except json.JSONDecodeError:
        return text


def _names(text: str) -> list[str]:
    return [each.strip() for each in text.split(",")]


def _pair(text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidInput(f"--range takes two numbers, such as 0,250, not {text!r}.") from None
    return low, high


#: How the text of an option is read, where it is not a text.
_READ: Mapping[str, Callable[[str], Any]] = {
    "options": _names,
    "regions": _names,
    "expected_rounds": _value,
    "range": _pair,
    "align": _value,
    "seed": _value,
}
