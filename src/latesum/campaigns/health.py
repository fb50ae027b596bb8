"""A campaign's health: what is wrong or worrying now, each with what to do about it.

It is computed once. `next`, `status`, the list, the page, `/metrics` and other programs show it;
none of them finds out anything by itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from latesum._durations import duration_text
from latesum._render import counted
from latesum.campaigns.completeness import Completeness
from latesum.campaigns.state import CampaignState

#: How bad a finding is: look at it now; look at it; good to know.
HealthLevel = Literal["alarm", "warning", "note"]
#: The levels, the worst first, and how a line begins that has one.
_SIGNS: dict[HealthLevel, str] = {"alarm": "ALARM:", "warning": "!", "note": "Note:"}
_LEVELS = tuple(_SIGNS)
#: After this many buckets without a usable total, a question or a change, something may be
#: forgotten.
_MAX_SILENT = 3
_MAX_PAUSED = 7
#: Of the last decisions, those that are looked at for buckets that were not asked for.
_LAST_DECISIONS = 10
_MIN_ROUNDS = 3
#: Bytes that are left for the store: below the first a warning, below the second an alarm.
LITTLE_SPACE = 500_000_000
NO_SPACE = 50_000_000
#: A total that grew by less than this share is noise, not growth; restatements within this time
#: are usual; and growth needs at least this number of totals.
_NOISE = 0.01
_LONG_AFTER = timedelta(days=7)
_MIN_GROWN = 3


class Finding(NamedTuple):
    """Something that a person should know.

    `code` is for programs, `sentence` says what it is and what to do, and `command` is that of
    `latesum campaign` which does it; empty if there is none.
    """

    code: str
    level: HealthLevel
    sentence: str
    command: str = ""

    @property
    def text(self) -> str:
        """The sentence with its command, for a terminal."""
        return self.sentence + (f" (`latesum campaign {self.command}`)" if self.command else "")

    @property
    def line(self) -> str:
        """The text with its level, for a terminal."""
        return f"{_SIGNS[self.level]} {self.text}"


def find_health(state: CampaignState, now: datetime, free_bytes: int | None) -> list[Finding]:
    """Everything that should be known about a campaign now, the worst first.

    `free_bytes` is the space that is left for its store; None if that is not known.
    """
    found = list[Finding]()
    if free_bytes is not None and free_bytes < LITTLE_SPACE:
        found.append(
            Finding(
                "store nearly full",
                "alarm" if free_bytes < NO_SPACE else "warning",
                f"There are {free_bytes / 1e6:,.0f} MB left where the campaigns are kept; when "
                "that is full, nothing can be decided or recorded. Make room.",
            )
        )
    if state.finished is None:
        # What is so in some regions names them; what is the same in all is said once.
        regions: dict[Finding, list[str]] = {}
        for region, part in state.parts.items():
            known = Completeness(part, now)
            for look in (_learning, _not_asked, _planned_end, _paused, _data, _compared, _rounds):
                for finding in look(part, known):
                    regions.setdefault(finding, []).append(region)
        for finding, where in regions.items():
            named = "" if len(where) == len(state.parts) else f"{', '.join(where)}: "
            found.append(finding._replace(sentence=named + finding.sentence))
        found += _market(state, now)
    return sorted(found, key=lambda finding: _LEVELS.index(finding.level))


def _market(state: CampaignState, now: datetime) -> Iterator[Finding]:
    """What the market model warns of: noisy demand, known from the history, and late options."""
    if not state.config.is_market:
        return
    from latesum.campaigns.deciding import market_rows, say_late
    from latesum.markets.summary import diagnose

    noisy, late = diagnose(*market_rows(state, now)[:3])
    if noisy is not None:
        yield Finding("noisy demand", "warning", noisy)
    for each in late:
        yield Finding("late option", "note", say_late(each, state.config.buckets.every))


def _learning(state: CampaignState, known: Completeness) -> Iterator[Finding]:
    """No total becomes usable, for `_MAX_SILENT` buckets.

    Where totals come in batches, such as a file every Monday, the usual time between two of them
    must have passed twice as well.
    """
    buckets = state.config.buckets
    usable = [b for b in state.decisions if known.observation(b).state == "known"]
    times = sorted({at for bucket in usable if (at := known.usable_at(bucket)) is not None})
    present = buckets.number(known.now)
    since = range(buckets.number(times[-1]) if times else state.first or present, present)
    if len(since) < _MAX_SILENT:
        return
    between = sorted(later - earlier for earlier, later in itertools.pairwise(times))
    if between and known.now - times[-1] < 2 * between[len(between) // 2]:
        return
    span = counted(len(since), buckets.every)
    said = f"for {span}, since {_time(state, times[-1])}" if times else f"yet, after {span}"
    sentences = [
        f"Nothing is being learned: no total has become usable {said}.",
        *_remedies(state, known, since),
        *_refused_imports(state),
    ]
    yield Finding("learns nothing", "alarm", " ".join(sentences), "import FILE")


def _remedies(state: CampaignState, known: Completeness, since: range) -> Iterator[str]:
    """Why totals are not usable, and what to do; `since` are the buckets without a usable one."""
    word = state.config.buckets.every
    recorded = [b for b, v in state.values.items() if v.total is not None and known.end(b)]
    waiting = [b for b in recorded if known.observation(b).state == "pending"]
    if waiting and known.full_age is not None:
        times = [at for bucket in waiting if (at := known.usable_at(bucket)) is not None]
        first = f"; the first will from {_time(state, min(times))} on" if times else ""
        yield (
            f"{_are(len(waiting), 'total')} recorded, but one counts only when it is full, "
            f"{duration_text(known.full_age)} after the end of its {word}{first}. What is recorded "
            "as final counts at once."
        )
    none = [value for b in since if (value := state.value(b)).total is None]
    missing = sum(value.status == "missing" for value in none)
    if missing:
        yield f"{_are(missing, word)} marked as missing: if a total turns up, record it."
    silent = len(none) - missing
    if silent and (silent >= _MAX_SILENT or silent == len(since)):
        which = "them" if silent == len(since) else f"{silent} of them"
        yield (
            f"No total was recorded for {which}: is the import still running? Bring in totals, or "
            "finish the campaign."
        )


def _refused_imports(state: CampaignState) -> Iterator[str]:
    """That files were refused since the last total came in."""
    newest = max((at for value in state.values.values() for at, _ in value.reports), default=None)
    refused = [each for each in state.actions if each.kind == "import refused"]
    refused = [each for each in refused if newest is None or each.at > newest]
    if refused:
        tried = "An import was tried" if len(refused) == 1 else "Imports were tried"
        yield (
            f"{tried} and refused {counted(len(refused), 'time')} since then, last on "
            f"{state.config.buckets.local(refused[-1].at):%Y-%m-%d}: {refused[-1].body['reason']}"
        )


def _are(number: int, noun: str) -> str:
    return f"{counted(number, noun)} {'is' if number == 1 else 'are'}"


def _time(state: CampaignState, at: datetime) -> str:
    """A time by the campaign's own clock."""
    return f"{state.config.buckets.local(at):%Y-%m-%d %H:%M} {state.config.zone}"


def _not_asked(state: CampaignState, known: Completeness) -> Iterator[Finding]:
    buckets, word = state.config.buckets, state.config.buckets.every
    decided = [each for each in state.decisions.values() if each.source != "reported"]
    # What went on before the first question could not be asked for.
    asked = list(itertools.dropwhile(lambda each: each.source == "carried", decided))
    if not asked:
        return
    missed = max(buckets.number(known.now) - asked[-1].bucket - 1, 0)
    newest = [*(each.source == "carried" for each in asked), *[True] * missed][-_LAST_DECISIONS:]
    if sum(newest) < _MAX_SILENT:
        return
    last = next(each for each in reversed(asked) if each.source != "carried")
    yield Finding(
        "not asked for",
        "warning",
        f"{sum(newest)} of the last {len(newest)} {word}s were not asked for (the last that was: "
        f"{last.label}), so what ran is taken to have gone on. If the campaign still runs, ask "
        f"once in every {word}; otherwise finish it.",
        "next",
    )


def _planned_end(state: CampaignState, known: Completeness) -> Iterator[Finding]:
    config, buckets, last = state.config, state.config.buckets, state.last
    horizon = config.parameters.get("horizon")
    if last is None or isinstance(horizon, bool) or not isinstance(horizon, int | float):
        return
    present = max(last, buckets.number(known.now))
    played = 0
    for bucket in range(state.first or 1, present):  # the present one is not over
        played += 1 if config.is_market else known.rounds(bucket)
        if played >= horizon:
            past = present - 1 - bucket
            ago = "now" if past == 0 else f"{counted(past, buckets.every)} ago"
            planned = counted(f"{horizon:,.0f}", buckets.every if config.is_market else "visitor")
            yield Finding(
                "planned end passed",
                "warning",
                f"The planned end, {planned}, was {ago} ({buckets.label(bucket)}). Finish the "
                "campaign, or extend it.",
                'change --parameter "horizon=..."',
            )
            return


def _paused(state: CampaignState, known: Completeness) -> Iterator[Finding]:
    """A pause that may be forgotten."""
    if state.paused is None:
        return
    since, body = state.paused.sequence, state.paused.body
    paused = sum((each.sequence or 0) > since for each in state.decisions.values())
    if paused >= _MAX_PAUSED:
        yield Finding(
            "paused long",
            "warning",
            f"The campaign has been paused for {counted(paused, state.config.buckets.every)} (by "
            f"{body['user']}: {body['reason']}); it learns nothing of other options meanwhile. If "
            "the reason is gone, resume it.",
            "resume",
        )


def _data(state: CampaignState, known: Completeness) -> Iterator[Finding]:
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
    settled = max(_LONG_AFTER, known.full_age or timedelta(0), config.buckets.length)
    reported = [
        (end, v.reports) for b, v in state.values.items() if (end := known.end(b)) and v.reports
    ]
    ages = [reports[-1][0] - end for end, reports in reported if _grew(reports, end, settled)]
    if len(ages) >= _MIN_GROWN and 3 * len(ages) >= len(reported):
        weeks = -(-max(ages) // timedelta(weeks=1))
        yield Finding(
            "old totals grow",
            "warning",
            f"{len(ages)} old totals kept growing more than {duration_text(settled)} after their "
            f"{config.buckets.every} ended. Totals by arrival do not do that: your source may date "
            "them by decision, which makes wrong winners. Ask it for totals by conversion time; "
            "or, if they only fill up slowly, give their completeness at each age. With the last "
            "age alone, younger totals wait until then.",
            f'change --completeness "{7 * weeks} days: 1"',
        )


def _grew(reports: list[tuple[datetime, float]], end: datetime, settled: timedelta) -> bool:
    """Whether a total grew long after its bucket."""
    late = [total for at, total in reports if at - end > settled]
    # What was seen before the end is the total of a part of the bucket, and had to grow.
    young = [total for at, total in reports if end <= at <= end + settled]
    before = (young[-1:] or late[:1] or [0.0])[0]
    return bool(late) and late[-1] > before + _NOISE * abs(before)


def _compared(state: CampaignState, known: Completeness) -> Iterator[Finding]:
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
    if config.align is None and config.buckets.every in ("hour", "day") and state.decisions:
        yield Finding(
            "weekdays",
            "note",
            "Options are compared on different days, so a good weekday may be taken for a good "
            "option. To avoid that, change options only at the start of a week.",
            "change --align week",
        )


def _rounds(state: CampaignState, known: Completeness) -> Iterator[Finding]:
    config = state.config
    rounds = [value.rounds for value in state.values.values() if value.rounds]
    if len(rounds) < _MIN_ROUNDS or config.is_market:  # it has no use for what was expected
        return
    mean = sum(rounds) / len(rounds)
    if not 2 / 3 <= mean / config.expected_rounds <= 3 / 2:
        yield Finding(
            "rounds not as expected",
            "warning",
            f"A {config.buckets.every} has {counted(f'{mean:,.0f}', 'visitor')} on average, not "
            f"{config.expected_rounds:,} as expected. Delays given in time were turned into "
            "visitors by that; correct it, and give the horizon and the delays again with it.",
            f"change --expected-rounds {mean:.0f}",
        )
