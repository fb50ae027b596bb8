"""Presets: the columns of reports that advertising platforms export.

Where the names come from. No page of the platforms that lists the headers of their exports was found, and no
real export was available: most names are those that public programs which read such exports look for.

- Google Ads: all names by such programs. That `Conversions` is dated by the click and
  `Conversions (by conv. time)` by the conversion is how they quote "Understand your conversion
  tracking data" (Google Ads Help). The lines above the names and "Total: ..." below are as users describe them.
- Meta Ads: `Link clicks`, `Clicks (all)` and `Results` are in "Columns" (a course on the Ads Manager);
  `Day`, `Reporting starts`, `Reporting ends`, `Purchases` and `Website purchases` by such programs. That totals
  are dated by the click or impression, and that a sum has no day, is assumed.
- Amazon Ads: all names by such programs. That orders count within seven days of a click, in the span
  of the click, is in "What does each metric mean?" (a guide to reports of sponsored products).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Dated = Literal["arrival", "decision"]


class PresetColumn(NamedTuple):
    """A name that a column may have; of totals also by what they are dated.

    `until` is the column with the last day of a row, where this one has its first.
    """

    name: str
    dated: Dated | None = None
    until: str | None = None


class Preset(NamedTuple):
    """How the reports of a platform are written."""

    title: str
    #: For each field the names that are looked for, the best first.
    columns: dict[str, tuple[PresetColumn, ...]]
    decimal: str
    thousands: str
    #: A row without a day is the sum of the others.
    total_without_day: bool = False


PRESETS: dict[str, Preset] = {
    "google-ads": Preset(
        "Google Ads",
        {
            "bucket": (PresetColumn("Day"), PresetColumn("Date"), PresetColumn("Week")),
            "rounds": (PresetColumn("Clicks"), PresetColumn("Interactions")),
            "total": (
                PresetColumn("Conversions (by conv. time)", "arrival"),
                PresetColumn("Conversions", "decision"),
            ),
        },
        ".",
        ",",
    ),
    "meta-ads": Preset(
        "Meta Ads",
        {
            "bucket": (
                PresetColumn("Day"),
                PresetColumn("Reporting starts", until="Reporting ends"),
            ),
            "rounds": (PresetColumn("Link clicks"), PresetColumn("Clicks (all)")),
            "total": (
                PresetColumn("Purchases", "decision"),
                PresetColumn("Website purchases", "decision"),
                PresetColumn("Results", "decision"),
            ),
        },
        ".",
        ",",
        total_without_day=True,
    ),
    "amazon-ads": Preset(
        "Amazon Ads",
        {
            "bucket": (PresetColumn("Date"), PresetColumn("Start Date", until="End Date")),
            "rounds": (PresetColumn("Clicks"),),
            "total": (
                PresetColumn("7 Day Total Orders (#)", "decision"),
                PresetColumn("14 Day Total Orders (#)", "decision"),
            ),
        },
        ".",
        ",",
    ),
}
