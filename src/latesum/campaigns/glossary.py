"""What the terms of the page mean, for people who read them for the first time."""

from __future__ import annotations

#: By the term's name in a page; the first sentence says what it is.
GLOSSARY: dict[str, str] = {
    "uplift": "How much more an option brings than the status quo, in percent of the status quo. The "
    "interval holds the true uplift with the stated certainty; if it contains 0%, there may be no "
    "difference.",
    "status quo": "The option that was shown before the campaign began, against which the others are "
    "measured. If it is not known, the first option stands for it.",
    "chance to be best": "How likely it is that the option brings more than every other one, by what is "
    "known now. It is computed from the means and their intervals, as if these were normal.",
    "interval": "The range in which the true value lies with the stated certainty. It narrows as totals "
    "come in.",
    "place": "In the race: may still be the best. Behind: its whole interval lies below the best one's. "
    "Winner: it is clear, and every option in the race was shown in two periods.",
    "data lag": "Days (or other buckets) that have ended and whose totals are not known yet. Decisions are "
    "taken without them.",
    "gain": "What the campaign has brought beyond showing all options equally often, by what is known now.",
    "worth": "What showing the leading option in place of the status quo would bring in 30 days, by what is "
    "known now, with its interval.",
    "bridge": "A time in which an option is shown but not judged, because what arrives then still comes "
    "from the option before it.",
    "period": "A run of days in which one option is shown without a break.",
    "total": "What arrived in a day from all decisions, earlier ones too; it does not say from which.",
    "forecast": "The rest of the campaign is simulated many times, from what is known now. Half of the "
    "simulations are decided by the named date, and eight of ten within the range.",
    "delay": "How long after a visit its sale is counted, on average. What is told at the start is "
    "corrected by what the totals show.",
    "outlier": "A total so far from what was expected (more than 3.5 standard deviations) that it counts "
    "as if it were closer: one strange day must not decide.",
    "visitor": "Someone, or a page view, a letter or anything else, to whom an option was shown. Files and "
    "the interface for programs call them rounds.",
}


def term_id(term: str) -> str:
    """The name of a term within a page.

    >>> term_id("chance to be best")
    'term-chance-to-be-best'
    """
    return "term-" + term.replace(" ", "-")
