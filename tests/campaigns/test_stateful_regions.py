"""Whatever happens in whatever order, a campaign with regions agrees with a small model in memory."""

import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from latesum import markets
from latesum.campaigns import Campaign, Store
from latesum.campaigns.moving import replay_log
from latesum.errors import NotPossible

OPTIONS = ["A", "B", "C"]
REGIONS = ("north", "south")
START = datetime(2026, 3, 2, tzinfo=UTC)
ME = {"user": "an operator", "reason": "a test"}
REGION = st.sampled_from(REGIONS)
REGION_OR_ALL = st.sampled_from([*REGIONS, None])
ARM = st.integers(0, 3)


class Model:
    """A campaign with regions in a few lines: rows, and what operators have ordered."""

    def __init__(self):
        self.names = list(OPTIONS)
        self.decided = {region: {} for region in REGIONS}  # bucket to (option's number, source)
        self.values = {region: {} for region in REGIONS}  # bucket to rounds, total, shown
        self.orders = dict.fromkeys(REGIONS)
        self.paused = dict.fromkeys(REGIONS, False)
        self.gone = {region: set() for region in REGIONS}

    def config(self):
        return markets.MarketConfig(
            tuple(self.names),
            60,
            REGIONS,
            status_quo="A",
            seed=9,
            rounds_known=any(
                value.get("rounds") is not None
                for each in self.values.values()
                for value in each.values()
            ),
        )

    def rows(self, before):
        for region in REGIONS:
            for bucket, (arm, _) in self.decided[region].items():
                if bucket < before:
                    value = self.values[region].get(bucket, {})
                    shown = value.get("shown") or self.names[arm]
                    shown = (
                        {self.names[arm]: share for arm, share in shown}
                        if isinstance(shown, tuple)
                        else shown
                    )
                    yield markets.RegionRow(
                        region, bucket - 1, value.get("rounds"), shown, value.get("total")
                    )

    def decide(self, bucket):
        last = max(self.decided["north"], default=0)
        for region in REGIONS:
            for missed in range(last + 1, bucket) if last else ():
                self.decided[region][missed] = self.decided[region][missed - 1][0], "carried"
                if self.orders[region] and self.orders[region][2]:
                    self.count(region)
        rows = list(self.rows(bucket))
        barred = {region: [self.names[arm] for arm in self.gone[region]] for region in REGIONS}
        asked = [
            each - 1 for each, (_, source) in self.decided["north"].items() if source != "carried"
        ]
        choices = markets.decide(rows, bucket - 1, self.config(), barred=barred, asked=asked)
        chosen = self.never_shown(rows, choices)
        for region, choice in choices.items():
            arm = chosen.get(region, self.names.index(choice.option))
            if region not in chosen and choice.purpose == "continue":
                arm = self.chosen_last(region, arm)
            source = "policy"
            if self.orders[region]:
                arm, source = self.orders[region][0], "pinned"
                self.count(region)
            elif self.paused[region] and bucket - 1 in self.decided[region]:
                before = self.decided[region][bucket - 1][0]
                if before not in self.gone[region]:
                    arm, source = before, "paused"
            self.decided[region][bucket] = arm, source

    def chosen_last(self, region, otherwise):
        for arm, source in reversed(self.decided[region].values()):
            if source == "policy" and arm not in self.gone[region]:
                return arm
        return otherwise

    def never_shown(self, rows, choices):
        seen = {
            name
            for row in rows
            for name in ([row.shown] if isinstance(row.shown, str) else row.shown)
        }
        seen |= {choice.option for choice in choices.values()}
        free = [region for region, choice in choices.items() if choice.purpose == "draw"]
        chosen = {}
        for arm, name in enumerate(self.names):
            able = [region for region in free if arm not in self.gone[region]]
            if name not in seen and able:
                chosen[able[0]] = arm
                free.remove(able[0])
        return chosen

    def count(self, region):
        arm, left, _ = self.orders[region]
        self.orders[region] = (arm, left - 1, True) if left > 1 else None


class RegionalComparison(RuleBasedStateMachine):
    @initialize()
    def begin(self):
        self.folder = tempfile.mkdtemp()
        self.now = START + timedelta(hours=9)
        self.model = Model()
        self.store = Store(Path(self.folder) / "campaigns.db")
        self.campaign = Campaign.create(
            name="model",
            options=OPTIONS,
            regions=list(REGIONS),
            status_quo="A",
            seed=9,
            parameters={"horizon": 60},
            expected_rounds=700,
            time_basis="arrival",
            start="2026-03-02",
            store=self.store,
            clock=self.clock,
        )
        self.decide()

    def clock(self):
        return self.now

    @property
    def today(self):
        return (self.now - START).days + 1

    def teardown(self):
        if hasattr(self, "store"):
            self.store.close()
            shutil.rmtree(self.folder)

    def where(self, region):
        return REGIONS if region is None else (region,)

    @rule(days=st.integers(1, 3))
    def time_passes(self, days):
        self.now += timedelta(days=days)
        self.decide()

    @rule()
    def decide(self):
        found = self.campaign.decide_all()
        if self.today not in self.model.decided["north"]:
            self.model.decide(self.today)
        for region in REGIONS:
            assert (found[region].arm, found[region].source) == self.model.decided[region][
                self.today
            ]
        assert self.campaign.decide_all() == found

    @rule(
        region=REGION,
        back=st.integers(1, 8),
        rounds=st.none() | st.integers(300, 900),
        share=st.sampled_from([0.02, 0.05, 0.08]),
        shown=st.none() | st.sampled_from(["B", ((0, 0.25), (1, 0.75))]),
    )
    def record(self, region, back, rounds, share, shown):
        bucket = max(self.today - back, 1)
        if bucket == self.today:
            return
        value = self.model.values[region].setdefault(bucket, {})
        if rounds is not None:
            value["rounds"] = rounds
        value["total"] = float(round(share * 600))
        if shown is not None:
            shown = "B" if shown == "B" and "B" in self.model.names else ((0, 0.25), (1, 0.75))
            value["shown"] = shown
        text = "A:0.25 B:0.75" if isinstance(shown, tuple) else shown
        self.campaign.record(bucket, region=region, rounds=rounds, total=value["total"], shown=text)
        assert self.campaign.record(bucket, region=region, total=value["total"]).verdict == "same"

    @precondition(lambda self: self.today > 1)
    @rule(region=REGION)
    def mark_missing(self, region):
        self.model.values[region].setdefault(self.today - 1, {})["total"] = None
        self.campaign.record(self.today - 1, region=region, status="missing")

    @rule(region=REGION_OR_ALL)
    def hold_or_resume(self, region):
        parts = self.where(region)
        if all(self.model.paused[each] for each in parts):
            goes_on = any(self.model.orders[each] for each in parts[:1])
            self.campaign.resume(region=region, **ME)
            for each in parts:
                self.model.paused[each] = False
                if not goes_on:
                    self.model.orders[each] = None
        else:
            self.campaign.pause(region=region, **ME)
            for each in parts:
                self.model.paused[each] = True

    @rule(region=REGION_OR_ALL, arm=ARM, buckets=st.integers(1, 3))
    def pin(self, region, arm, buckets):
        arm %= len(self.model.names)
        parts = self.where(region)
        if any(arm in self.model.gone[each] for each in parts):
            return
        self.campaign.pin(self.model.names[arm], buckets=buckets, region=region, **ME)
        for each in parts:
            self.model.orders[each] = (arm, buckets, False)

    @rule(region=REGION, arm=ARM)
    def drop_or_bring_back(self, region, arm):
        arm %= len(self.model.names)
        gone, name = self.model.gone[region], self.model.names[arm]
        if arm in gone:
            self.campaign.restore_option(name, region=region, **ME)
            gone.remove(arm)
        elif len(gone) == len(self.model.names) - 1:
            with pytest.raises(NotPossible):
                self.campaign.remove_option(name, region=region, **ME)
        else:
            self.campaign.remove_option(name, region=region, **ME)
            gone.add(arm)
            if self.model.orders[region] and self.model.orders[region][0] == arm:
                self.model.orders[region] = None

    @precondition(lambda self: len(self.model.names) < 4)
    @rule()
    def add(self):
        self.campaign.add_option("D", **ME)
        self.model.names.append("D")

    @rule()
    def crash_and_reopen(self):
        self.store.close()
        self.store = Store(Path(self.folder) / "campaigns.db")
        self.campaign = Campaign.open("model", store=self.store, clock=self.clock)

    @rule()
    def replay(self):
        assert replay_log(self.campaign.first_config, self.campaign.history()) == []

    @invariant()
    def the_log_says_what_the_model_says(self):
        if not hasattr(self, "campaign"):
            return
        for region, part in self.campaign.state().parts.items():
            found = {bucket: (each.arm, each.source) for bucket, each in part.decisions.items()}
            assert found == self.model.decided[region]
            for bucket, value in self.model.values[region].items():
                assert part.value(bucket).total == value.get("total")
                assert part.value(bucket).rounds == value.get("rounds")


RegionalComparison.TestCase.settings = settings(
    max_examples=7,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestRegionsAgainstTheModel = RegionalComparison.TestCase


class LongRegionalComparison(RegionalComparison):
    pass


LongRegionalComparison.TestCase.settings = settings(
    max_examples=200,
    stateful_step_count=60,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestRegionsAgainstTheModelForLong = pytest.mark.slow(LongRegionalComparison.TestCase)
