"""The process that simulates for the service: plans, and when campaigns will be decided.

It is a process of its own, so that plans and forecasts never hold up a decision, and so that one that
is not wanted any longer can be ended.
"""

from __future__ import annotations

from typing import Any

from latesum._checks import InvalidInput
from latesum.service.helper_process import Message, answer_questions, tell

#: Runs of each policy in a plan, and the policies that are tried: a verdict while someone waits.
#: `latesum plan` tries more, more often.
REPLICATIONS = 100
POLICIES = ("unmix", "half test")
#: Runs of each policy in a plan with regions.
REGION_REPLICATIONS = 40


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """The answer to a question: {"found": ...}, or {"refused": a sentence}."""
    try:
        if question["about"] == "plan":
            return {"found": _plan(question["given"])}
        if question["about"] == "region plan":
            return {"found": _region_plan(question["given"])}
        if question["about"] == "market forecast":
            from latesum.service.market_forecasting import MarketQuestion, market_forecast

            return {"found": market_forecast(MarketQuestion(**question["given"]))}
        from latesum.service.forecasting import Question, forecast

        return {"found": forecast(Question(**question["given"]))}
    except InvalidInput as refused:
        return {"refused": str(refused)}


def _plan(given: dict[str, Any]) -> dict[str, Any]:
    from latesum.planning import plan

    found = plan(
        **given,
        policies=POLICIES,
        replications=REPLICATIONS,
        workers=1,
        on_interim=lambda interim: tell(interim.to_json()),
    )
    return found.to_json()


def _region_plan(given: dict[str, Any]) -> dict[str, Any]:
    from latesum.planning import given_delay, past_rows, plan_regions
    from latesum.planning.words import read_duration

    found = plan_regions(
        past_rows(given["history"]),
        regions=given["regions"],
        options=given["options"],
        lift=given["lift"],
        days=round(read_duration(given["run_for"], "the run") / 24),
        late=given_delay(given["late"]),
        replications=REGION_REPLICATIONS,
        workers=1,
    )
    return found.to_json()


def _said(question: Message) -> Message:
    try:
        return Message(answer(question.head))
    except Exception as error:  # the next question may be a better one
        return Message({"failed": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    answer_questions(_said)
