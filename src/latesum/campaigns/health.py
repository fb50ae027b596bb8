"""A campaign's health: what is wrong or worrying now, each with what to do about it.

It is computed once. `next`, `status`, the list, the page, `/metrics` and other programs show it;
none of them finds out anything by itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from latesum._durations import duration_text
from latesum._render import counted
from latesum.campaigns.completeness import Completeness
from latesum.campaigns.learning import (
    date_of,
    growing_totals,
    learning_stopped,
    span_since,
    usual_interval,
)
from latesum.campaigns.state import CampaignState
from latesum.campaigns.vocabulary import HealthLevel

#: After this many buckets without a new report, a question or a change, something may be forgotten.
MAX_SILENT = 3
MAX_CARRIED = 3
MAX_PAUSED = 7
#: Of the last decisions, those that are looked at for buckets that were not asked for.
_LAST_DECISIONS = 10
_MIN_ROUNDS = 3
#: Bytes that are left for the store: below the first a warning, below the second an alarm.
LITTLE_SPACE = 500_000_000
NO_SPACE = 50_000_000
_RANK = {"alarm": 0, "warning": 1, "note": 2}


class Finding(NamedTuple):
    """Something that a person should know.

    Args:
        code: What it is, for programs.
        level: "alarm": look at it now. "warning": look at it. "note": good to know.
        sentence: What it is and what to do.
        command: The command of `latesum campaign` that does it; empty if there is none.
    """

    code: str
    level: HealthLevel
    sentence: str
    command: str = ""

    @property
    def text(self) -> str:
        """The sentence with its command, for a terminal."""
        return self.sentence + (f" (`latesum campaign {self.command}`)" if self.command else "")


def unreadable(error: Exception) -> Finding:
    """The finding about a campaign that cannot be opened, such as one whose policy is missing here.

    >>> unreadable(ValueError("there is no policy 'mine'")).sentence
    "This campaign cannot be read here, so nothing is decided for it: there is no policy 'mine'."
    """
    said = str(error).rstrip(".") or type(error).__name__
    if not isinstance(error, ValueError):
        said = f"{type(error).__name__}: {said}"
    sentence = f"This campaign cannot be read here, so nothing is decided for it: {said}."
    return Finding("unreadable", "alarm", sentence)


def find_health(state: CampaignState, now: datetime, free_bytes: int | None) -> list[Finding]:
    """Everything that should be known about a campaign now, the worst first.

    Args:
        state: What its log adds up to.
        now: The time.
        free_bytes: The space that is left for its store; None if that is not known.
    """
    found = list(_store(free_bytes))
    if state.finished is None and state.archived is None:
        # What is so in some regions names them; what is the same in all is said once.
        regions: dict[Finding, list[str]] = {}
        for region, part in state.parts.items():
            completeness = Completeness(part, now)
            for look in (_learning, _not_asked, _planned_end, _ordered, _data, _compared, _rounds):
                for finding in look(part, completeness):
                    regions.setdefault(finding, []).append(region)
        for finding, where in regions.items():
            named = "" if len(where) == len(state.parts) else f"{', '.join(where)}: "
            found.append(finding._replace(sentence=named + finding.sentence))
        found += _market(state, now)
    return sorted(found, key=lambda finding: _RANK[finding.level])


def without_doubts(findings: list[Finding]) -> list[Finding]:
    """The findings once a winner is named, which waits until options were seen twice."""
    return [each for each in findings if each.code != "seen once"]


def _market(state: CampaignState, now: datetime) -> Iterator[Finding]:
    """What the market model warns of: noisy demand, known from the history, and late options."""
    if not state.config.is_market:
        return
    from latesum.campaigns.deciding import market_rows, say_late
    from latesum.markets.summary import diagnose

    found = market_rows(state, now)
    noisy, late = diagnose(found.rows, (state.last or 0) + 1 - found.first, found.config)
    if noisy is not None:
        yield Finding("noisy demand", "warning", noisy)
    for each in late:
        yield Finding("late option", "note", say_late(each, state.config.buckets.every))


def _store(free_bytes: int | None) -> Iterator[Finding]:
    if free_bytes is not None and free_bytes < LITTLE_SPACE:
        yield Finding(
            "store nearly full",
            "alarm" if free_bytes < NO_SPACE else "warning",
            f"There are {free_bytes / 1e6:,.0f} MB left where the campaigns are kept; when that is "
            "full, nothing can be decided or recorded. Make room.",
        )


def _learning(state: CampaignState, completeness: Completeness) -> Iterator[Finding]:
    """Nothing becomes usable; or nothing is reported at all, though what is there counts."""
    stopped = learning_stopped(state, completeness)
    reports = [at for bucket in state.decisions for at, _ in state.value(bucket).reports]
    refused = _refused_imports(state, max(reports, default=None))
    if stopped is not None:
        yield Finding("learns nothing", "alarm", " ".join([stopped, *refused]), "import FILE")
        return
    length = state.config.buckets.length
    if not reports or length is None:
        return
    newest, usual = max(reports), usual_interval(sorted(set(reports)))
    if completeness.now - newest >= max(MAX_SILENT * length, 2 * usual):
        stale = (
            f"The last total came in {span_since(newest, completeness.now)} ago, on "
            f"{date_of(newest, state.config)}: is the import still running? "
            "Import totals, or finish the campaign."
        )
        yield Finding("data stale", "alarm", " ".join([stale, *refused]), "import FILE")


def _refused_imports(state: CampaignState, newest: datetime | None) -> list[str]:
    """Imports that were tried in vain since the newest total."""
    refused = [
        act
        for act in state.actions
        if act.kind == "import refused" and (newest is None or act.at > newest)
    ]
    if not refused:
        return []
    last = refused[-1]
    tried = "An import was tried" if len(refused) == 1 else "Imports were tried"
    return [
        f"{tried} and refused {counted(len(refused), 'time')} since then, last on "
        f"{date_of(last.at, state.config)}: {last.body['reason']}"
    ]


def _not_asked(state: CampaignState, completeness: Completeness) -> Iterator[Finding]:
    buckets, last = state.config.buckets, state.last
    if not buckets.timed or last is None:
        return
    word = state.config.buckets.word
    missed = buckets.number(completeness.now) - last
    questions = [each for each in state.decisions.values() if each.source != "reported"]
    asked = [each.bucket for each in questions if each.source != "carried"]
    # What went on before the first question could not be asked for.
    newest = [each for each in questions if asked and each.bucket >= asked[0]][-_LAST_DECISIONS:]
    carried = sum(each.source == "carried" for each in newest)
    if missed > MAX_CARRIED:
        shown = state.decisions[last]
        sentence = (
            f"No one has asked what to show since {shown.label}, {missed} {word}s ago; "
            f"{shown.option} is taken to have gone on. If the campaign still runs, ask once in "
            f"every {word}; otherwise finish it."
        )
    elif carried >= MAX_CARRIED:
        sentence = (
            f"{carried} of the last {len(newest)} {word}s were not asked for, so what ran is taken "
            f"to have gone on and the policy could not choose: ask once in every {word}."
        )
    else:
        return
    yield Finding("not asked for", "warning", sentence, "next")


def _planned_end(state: CampaignState, completeness: Completeness) -> Iterator[Finding]:
    config, last = state.config, state.last
    horizon = config.parameters.get("horizon")
    if last is None or isinstance(horizon, bool) or not isinstance(horizon, int | float):
        return
    timed = config.buckets.timed
    present = max(last, config.buckets.number(completeness.now)) if timed else last
    played = 0
    for bucket in range(state.first or 1, present):  # the present one is not over
        played += 1 if config.is_market else completeness.rounds(bucket)
        if played >= horizon:
            past = present - 1 - bucket
            ago = "now" if past == 0 else f"{counted(past, config.buckets.word)} ago"
            unit = config.buckets.word if config.is_market else "visitor"
            yield Finding(
                "planned end passed",
                "warning",
                f"The planned end, {counted(f'{horizon:,.0f}', unit)}, was {ago} "
                f"({config.buckets.label(bucket)}). Finish the campaign, or extend it.",
                'change --parameter "horizon=..."',
            )
            return


def _ordered(state: CampaignState, completeness: Completeness) -> Iterator[Finding]:
    """A pause or a pin that may be forgotten."""
    word = state.config.buckets.word
    if state.paused is not None:
        since, body = state.paused.sequence, state.paused.body
        paused = sum((each.sequence or 0) > since for each in state.decisions.values())
        if paused >= MAX_PAUSED:
            yield Finding(
                "paused long",
                "warning",
                f"The campaign has been paused for {counted(paused, word)} (by {body['user']}: "
                f"{body['reason']}); it learns nothing of other options meanwhile. If the reason "
                "is gone, resume it.",
                "resume",
            )
    if state.pin is None:
        return
    decisions = reversed(state.decisions.values())
    pinned = len(list(itertools.takewhile(lambda each: each.source == "pinned", decisions)))
    if pinned >= MAX_PAUSED:
        yield Finding(
            "pinned long",
            "warning",
            f"{state.config.options[state.pin.arm]} has been pinned for {counted(pinned, word)}, "
            f"and stays so for {state.pin.left} more ({state.pin.reason}). If the reason is gone, "
            "unpin it.",
            "unpin",
        )


def _data(state: CampaignState, completeness: Completeness) -> Iterator[Finding]:
    config = state.config
    if config.time_basis == "decision":
        if config.is_market:
            return  # the model knows how totals grow
        yield Finding(
            "dated by decision",
            "warning",
            "The totals are dated by decision, not by arrival: a sale counts for the day of the "
            "click. The policy takes them for arrivals and may find a wrong winner. Ask your "
            "source for totals by conversion time and start a new campaign with them.",
        )
    growing = growing_totals(state, completeness)
    if growing is not None:
        weeks = -(-growing.age // timedelta(weeks=1))
        yield Finding(
            "old totals grow",
            "warning",
            f"{growing.totals} old totals kept growing more than {duration_text(growing.settled)} "
            f"after their {config.buckets.word} ended. Totals by arrival do not do that: your "
            "source may date them by decision, which makes wrong winners. Ask it for totals by "
            "conversion time; or, if they only fill up slowly, say so.",
            f'change --completeness "fit {7 * weeks} days"',
        )


def _compared(state: CampaignState, completeness: Completeness) -> Iterator[Finding]:
    """What a comparison of the options takes for granted."""
    config = state.config
    if config.is_market:
        # It compares regions on the same days and knows weekdays; its winner waits for two periods.
        if state.decisions and not config.parameters.get("novelty"):
            yield Finding(
                "effects that stay",
                "note",
                "The method assumes that an option stays as good as it is: where effects change "
                "during the campaign, it can end on an option that is no longer the best. If a "
                "novelty may wear off, allow for it. No method here follows rates that go on "
                "changing: finish the campaign then and start a new one.",
                "change --parameter novelty=0.01",
            )
        return
    once = [
        name
        for arm, (name, visits) in enumerate(zip(config.options, count_visits(state), strict=True))
        if visits == 1 and arm not in state.removed
    ]
    if once and len(state.decisions) > 1:
        yield Finding(
            "seen once",
            "note",
            f"{', '.join(once)} {'was' if len(once) == 1 else 'were'} shown in one period only; "
            "what was special about that time is taken for the option. Wait for a second period "
            "before you believe a difference.",
        )
    if config.align is None and config.buckets.every in ("hour", "day") and state.decisions:
        yield Finding(
            "weekdays",
            "note",
            "Options are compared on different days, so a good weekday may be taken for a good "
            "option. To avoid that, change options only at the start of a week.",
            "change --align week",
        )


def _rounds(state: CampaignState, completeness: Completeness) -> Iterator[Finding]:
    config = state.config
    rounds = [value.rounds for value in state.values.values() if value.rounds]
    if len(rounds) < _MIN_ROUNDS or config.is_market:  # it has no use for what was expected
        return
    mean = sum(rounds) / len(rounds)
    if 2 / 3 <= mean / config.expected_rounds <= 3 / 2:
        return
    yield Finding(
        "rounds not as expected",
        "warning",
        f"A {config.buckets.word} has {counted(f'{mean:,.0f}', 'visitor')} on average, not "
        f"{config.expected_rounds:,} as expected. Delays given in time were turned into visitors "
        "by that; correct it, and give the horizon and the delays again with it.",
        f"change --expected-rounds {mean:.0f}",
    )


def count_visits(state: CampaignState) -> list[int]:
    """How many times each option was shown, a run of buckets without a break being one time."""
    visits = [0] * state.config.n_options
    last = None
    for bucket in state.decisions:
        if state.value(bucket).rounds == 0:
            continue
        arm = state.shown(bucket)
        if arm != last:
            visits[arm] += 1
        last = arm
    return visits
