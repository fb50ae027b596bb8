"""Presets: the columns of reports that advertising platforms export.

The names are those that the platforms and users of their reports document:

- Google Ads: "Conversion reporting" (Google Ads API, the table of names in the interface) and
  "Understand your conversion tracking data" (Google Ads Help): `Conversions` is dated by the click,
  `Conversions (by conv. time)` by the conversion. A downloaded table has two lines above the
  names, the title of the report and its span of time, and lines "Total: ..." below.
- Meta Ads: "Ad Account, Insights" (Graph API) and "Columns" (a course on the Ads Manager). With the
  breakdown by day a table has the column `Day`; otherwise `Reporting starts` is the day.
- Amazon Ads: "Reporting Structure" and "What does each metric mean?" (guides to the reports of
  sponsored products): `7 Day Total Orders (#)` counts orders within seven days of a click,
  on the day of the click; sponsored brands have 14 days.
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
