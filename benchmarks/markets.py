"""What a fit and a decision of `latesum.markets` cost, in CPU time.

    python benchmarks/markets.py            # about a quarter of a minute
    python benchmarks/markets.py --quick    # a few seconds

The rows are those of a market that the rule itself has played: three options, totals two days late,
28 days of history and 90 days (with 20 and 100 regions 30 days were played, by an equal split). A
fit is one pass of the filter over all rows. A decision fits once if the week's search was made
before; otherwise it makes that search first, which fits some twenty times. In a new process nothing
is remembered, and the searches of all weeks are made again. Times are the best of several turns,
since machines are noisy.
"""

from __future__ import annotations

import argparse
import functools
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from latesum.experiments.markets.players import SwitchbackPlayer
from latesum.experiments.markets.spec import MarketRunSpec
from latesum.experiments.store import write_summary
from latesum.markets import search
from latesum.markets.config import MarketConfig
from latesum.markets.model import posterior_with
from latesum.markets.rows import Panel
from latesum.markets.rule import decide_panel
from latesum.simulation.market import Market

HISTORY, DAYS, SEED = 28, 90, 7
#: What a posterior and a decision, with its search remembered and without, may take, in ms.
GOALS = {
    "a decision, 4 regions, with the searches of all weeks": 500.0,
}


def cpu(work: Callable[[], object], turns: int) -> float:
    """The CPU time of the fastest of several turns, in ms."""
    work()  # compiled before it is timed
    taken = []
    for _ in range(turns):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return 1e3 * min(taken)


def played(regions: int, days: int, policy: str) -> tuple[Panel, MarketConfig]:
    """The rows of a market, and its config."""
    law = Market(regions=regions, buckets=days, history=HISTORY, sales=150.0 * regions)
    run = MarketRunSpec(law, policy, seed=SEED).run(0)
    reader = SwitchbackPlayer(run.world, SEED)
    return reader.panel(days), reader.config


def longer(panel: Panel, days: int) -> Panel:
    """A panel of as many days after the start as wanted: its own, repeated."""
    inside = len(panel.totals) + panel.first
    places = np.concatenate([np.arange(-panel.first), -panel.first + np.arange(days) % inside])
    return Panel(panel.first, panel.exposure[places], panel.shares[places], panel.totals[places])


def decisions(panel: Panel, config: MarketConfig, turns: int) -> dict[str, float]:
    """A decision with all searches remembered, with all but the last week's, and with none."""
    bucket = panel.end - panel.end % config.period_length  # where it is decided again
    panel = panel.until(bucket)

    def remembered() -> object:
        return decide_panel(panel, bucket, config)

    quick = cpu(remembered, turns)
    times = search._search_times(panel.known.tobytes(), panel.first)
    names = search._digests(panel, config, times)

    def searched() -> object:
        search._MEMORY.pop(names[-1], None)
        return decide_panel(panel, bucket, config)

    def searched_from_scratch() -> object:
        search._MEMORY.clear()
        return decide_panel(panel, bucket, config)

    return {
        "the week's search is remembered": quick,
        "with the week's search": cpu(searched, turns),
        "with the searches of all weeks": cpu(searched_from_scratch, turns),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer turns")
    parser.add_argument("--out", type=Path, default=Path("market-speed-results"))
    given = parser.parse_args()
    turns = 3 if given.quick else 15
    found: dict[str, float] = {}
    for regions in (1, 4, 20, 100):
        if regions <= 8:
            panel, config = played(regions, DAYS, "switchback")
        else:
            panel, config = played(regions, 30, "equal-split")
            panel = longer(panel, DAYS)
        hyper = search.defaults(panel, config)
        words = f"{regions} regions" if regions > 1 else "1 stream"
        once = functools.partial(posterior_with, panel, config, hyper)
        found[f"a posterior, {DAYS} days x {words}"] = cpu(once, turns)
        if regions <= 8:
            for how, taken in decisions(panel, config, turns).items():
                found[f"a decision, {words}, {how}"] = taken
    rows = [
        {"what": what, "cpu_ms": taken, "goal_ms": GOALS.get(what), "turns": turns}
        for what, taken in found.items()
    ]
    for row in rows:
        goal = f" (at most {row['goal_ms']:g} ms)" if row["goal_ms"] else ""
        print(f"{row['what']}: {row['cpu_ms']:.3g} ms{goal}")
    print(write_summary(given.out / "market-speed.csv", rows, same=["what"]))


if __name__ == "__main__":
    main()
