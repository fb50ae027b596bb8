"""Campaigns with a past, for benchmarks of what the service shows of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

OPTIONS = ("red", "blue", "green")


def grow(
    store: Any,
    name: str,
    *,
    every: str,
    buckets: int,
    known: int,
    regions: int,
    stay: int,
    late: str,
    policy: dict[str, Any],
    seed: int = 1,
) -> None:
    """A campaign that began `buckets` buckets ago, with a decision now and its first totals.

    Args:
        store: Where it is kept.
        name: Its name.
        every: "hour" or "day".
        buckets: How many have begun; the last is not over.
        known: Of how many there are totals.
        regions: The number of regions; with one the campaign has none.
        stay: After how many buckets another option was shown.
        late: With regions, what is given of the delay.
        policy: Without regions, the policy and its parameters.
        seed: The seed.
    """
    from latesum.campaigns import Campaign, Row

    length = timedelta(**{f"{every}s": 1})
    today = datetime.now(UTC).replace(hour=0, minute=0) if every == "day" else datetime.now(UTC)
    start = today - (buckets - 1) * length
    now = [start]
    names = [f"region {number}" for number in range(1, regions + 1)] if regions > 1 else []
    parameters = {"horizon": f"{2 * buckets} {every}s", "late": late}
    how: dict[str, Any] = {"regions": names, "parameters": parameters} if names else policy
    campaign = Campaign.create(
        name=name,
        options=list(OPTIONS),
        every=every,
        expected_rounds=5000,
        time_basis="arrival",
        start=start.date().isoformat() if every == "day" else start.isoformat(),
        status_quo=OPTIONS[0],
        seed=seed,
        store=store,
        clock=lambda: now[0],
        **how,
    )
    now[0] = today + timedelta(minutes=5)
    rows = []
    for bucket in range(1, known + 1):
        for place, region in enumerate(names or [None]):
            shown = OPTIONS[(bucket // stay + place) % len(OPTIONS)]
            rows.append(Row(bucket, 5000, 1500.0 + 10 * (bucket % 7), shown=shown, region=region))
    campaign.record_many(rows)  # what was shown before the first question is filled in
    campaign.decide_all()
