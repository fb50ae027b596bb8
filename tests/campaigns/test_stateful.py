"""Whatever happens in whatever order, a campaign agrees with a small model in memory."""

import contextlib
import copy
import functools
import math
import shutil
import tempfile
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from latesum import InvalidInput
from latesum.campaigns import Campaign, Store
from latesum.campaigns.importing import import_totals
from latesum.campaigns.moving import replay_log
from latesum.errors import Conflicting, NotPossible, UnknownBucket
from latesum.files import FileForm
from latesum.policies import registry

OPTIONS = ["A", "B", "C"]
#: The policies that the campaign changes between, with their parameters at the beginning.
POLICIES = {
    "odaaf": {"horizon": 40_000, "mean_delay": 5},
    "ars-ucb": {"exploration": 4.0},
    "round-robin": {"block": 1_000},
}
PARAMETERS = POLICIES["odaaf"]
EXPECTED = 700
FIRST_DAY = date(2026, 3, 1)
#: The clocks change on 8 March in Los Angeles and on 29 March in Berlin.
ZONES = ("UTC", "Europe/Berlin", "Asia/Tokyo", "America/Los_Angeles", "Asia/Kathmandu")
ME = {"user": "an operator", "reason": "a test"}
DAYS_BACK = st.integers(0, 9)


#: How files are written: their first lines, a row, and what has to be said.
HEADS = {
    "plain": "date,rounds,total,status\n",
    "german": "Bericht\n\nDatum;Besuche;Summe;Status\n",
    "google": 'Report\n"March 1, 2026 - today"\nDay,Clicks,Conversions (by conv. time),status\n',
}
WRITTEN = {
    "plain": (
        lambda day, rounds, total, status: f"{day:%Y-%m-%d},{rounds},{total},{status}\n",
        FileForm(),
    ),
    "german": (
        lambda day, rounds, total, status: (
            f"{day:%d.%m.%Y};{rounds};{total:.1f};{status}\n".replace(".0;", ",0;").replace(
                ".5;", ",5;"
            )
        ),
        FileForm(
            columns={"bucket": "Datum", "rounds": "Besuche", "total": "Summe"},
            decimal=",",
        ),
    ),
    "google": (
        lambda day, rounds, total, status: f'{day:%Y-%m-%d},"{rounds:,}",{total:.2f},{status}\n',
        FileForm(columns={"total": "Conversions (by conv. time)"}),
    ),
}


@functools.cache
def _empty_store():
    """A file with empty tables, made once: making the tables is slow."""
    path = Path(tempfile.mkdtemp()) / "campaigns.db"
    Store(path).close()
    return path


class Model:
    """A campaign in a few lines, without a log, a store or a cache."""

    def __init__(self, zone):
        self.zone = zone
        self.names = list(OPTIONS)
        self.kind, self.parameters = "odaaf", PARAMETERS
        self.decided = {}  # bucket to (arm, purpose), in order and without gaps
        self.numbers = {}  # of their blocks
        self.planned = {}  # the rounds that were asked for
        self.values = {}  # what is recorded of each
        self.drops = []  # (arm, the first bucket without it)
        self.paused, self.pinned = False, None

    def day(self, bucket):
        return FIRST_DAY + timedelta(days=bucket - 1)

    def end(self, bucket):
        """The midnight after the day, in the campaign's time zone."""
        return datetime.combine(self.day(bucket + 1), time(), self.zone).astimezone(UTC)

    @property
    def last(self):
        return max(self.decided, default=0)

    def policy(self, now):
        policy = registry.build(
            self.kind, n_arms=len(self.names), names=list(self.names), **self.parameters
        )
        drops, self.told = sorted(self.drops, key=lambda drop: drop[1]), None
        for bucket, (arm, purpose) in self.decided.items():
            while drops and drops[0][1] <= bucket:
                policy.drop(drops.pop(0)[0])
                self.told = None
            value, end = self.values[bucket], self.end(bucket)
            total, lost = value["total"], value["status"] == "missing"
            usable = now >= end or value["status"] == "final"
            arm = arm if value["shown"] is None else value["shown"]
            other = lost or arm != self.decided[bucket][0]
            rounds = EXPECTED if value["rounds"] is None else value["rounds"]
            if other:  # one block with the bucket before it, if that was the same
                purpose, same = "override", self.told and self.told[:2] == (arm, "override")
                number = self.told[2] if same else bucket
            else:
                number = self.numbers[bucket]
            policy.tell(arm, rounds, total if usable else None, purpose, number)
            self.told = arm, purpose, number
        for arm, _ in drops:
            policy.drop(arm)
            self.told = None
        return policy

    def decide(self, bucket, now):
        self.carry_up_to(bucket)
        policy = self.policy(now)
        asked = policy.ask()
        block = [each for each, number in self.numbers.items() if number == asked.number]
        if self.told and asked.number == self.told[2] and 2 * asked.rounds < EXPECTED and block:
            planned = self.planned.get(block[0])  # in whole buckets, a tenth more or less
            if planned is not None and len(block) >= math.ceil(planned / EXPECTED - 0.1):
                policy.tell(asked.arm, asked.rounds, None, asked.purpose, asked.number)
                asked = policy.ask()
        self.planned[bucket] = asked.rounds
        arm = asked.arm
        gone = [arm for arm, _ in self.drops]
        if self.pinned:
            arm = self.pinned[0]
            self.count_order()
        elif self.paused and self.decided and self.decided[self.last][0] not in gone:
            arm = self.decided[self.last][0]
        purpose = asked.purpose if arm == asked.arm else "override"
        number = policy.number_for(arm, purpose)
        goes_on = self.told and self.told[2] == number
        self.add(bucket, arm, purpose, number if goes_on else bucket)

    def carry_up_to(self, bucket):
        """Buckets before this one were not asked for: what ran went on."""
        while self.decided and self.last < bucket - 1:
            self.add(self.last + 1, *self.decided[self.last], self.numbers[self.last])
            if self.pinned and self.pinned[2]:
                self.count_order()

    def fill_in(self, bucket, arm):
        """It is reported what was shown before the first question: it went on until then."""
        until = min(self.decided, default=bucket + 1)
        for each in range(bucket, until):
            self.add(each, arm, "override", each)
        for what in (self.decided, self.numbers, self.values):
            in_order = dict(sorted(what.items()))
            what.clear()
            what.update(in_order)

    def count_order(self):
        arm, left, _ = self.pinned
        self.pinned = (arm, left - 1, True) if left > 1 else None

    def add(self, bucket, arm, purpose, number):
        self.decided[bucket] = arm, purpose
        self.numbers[bucket] = number
        self.values[bucket] = {
            "rounds": None,
            "total": None,
            "status": "provisional",
            "shown": None,
            "seen": None,
        }


class Comparison(RuleBasedStateMachine):
    @initialize(
        zone=st.sampled_from(ZONES),
        silence=st.sampled_from([0, 0, 2, 5]),
        reported=st.none() | st.tuples(st.integers(1, 5), st.integers(0, 2)),
    )
    def begin(self, zone, silence, reported):
        """The first question may come some days after the start, of which something is reported."""
        self.folder = tempfile.mkdtemp()
        self.model = Model(ZoneInfo(zone))
        self.now = self.moment(1 + silence, 9)
        self.sent = None
        shutil.copy(_empty_store(), self.folder)
        self.store = Store(Path(self.folder) / "campaigns.db")
        self.campaign = Campaign.create(
            name="model",
            options=OPTIONS,
            policy="odaaf",
            parameters=PARAMETERS,
            every="day",
            expected_rounds=EXPECTED,
            time_basis="arrival",
            start="2026-03-01",
            zone=zone,
            store=self.store,
            clock=self.clock,
        )
        if reported is not None:
            bucket, arm = reported
            self.send(bucket, {"rounds": 700, "total": 300, "shown": OPTIONS[arm]})
        self.decide()

    def moment(self, bucket, hours):
        """An hour of the day of a bucket, by the clocks of the campaign's place."""
        local = datetime.combine(self.model.day(bucket), time(hours), self.model.zone)
        return local.astimezone(UTC)

    def clock(self):
        return self.now

    @property
    def today(self):
        return (self.now.astimezone(self.model.zone).date() - FIRST_DAY).days + 1

    def teardown(self):
        if hasattr(self, "store"):
            self.store.close()
            shutil.rmtree(self.folder)

    @rule(days=st.integers(1, 3), hours=st.sampled_from([1, 9, 21]))
    def time_passes(self, days, hours):
        self.now = self.moment(self.today + days, hours)

    @rule()
    def decide(self):
        decision = self.campaign.decide()
        assert decision.bucket == self.today
        if self.model.last < self.today:
            self.model.decide(self.today, self.now)
        assert (decision.arm, decision.purpose) == self.model.decided[decision.bucket]
        assert self.campaign.decide(decision.bucket) == decision

    @precondition(lambda self: self.model.decided)
    @rule(hours=st.sampled_from([9, 16, 23]))
    def another_hour(self, hours):
        self.now = max(self.now, self.moment(self.today, hours))

    @precondition(lambda self: self.model.decided)
    @rule(
        back=DAYS_BACK,
        rounds=st.none() | st.integers(1, 900),
        share=st.none() | st.sampled_from([0.0, 0.2, 0.5, 1.0, -0.1]),
        status=st.none() | st.sampled_from(["provisional", "final"]),
        shown=st.none() | st.integers(0, 4),
    )
    def record(self, back, rounds, share, status, shown):
        names = self.model.names
        shown = names[shown] if shown is not None and shown < len(names) else None
        bucket = self.chosen(back)
        value = self.model.values.get(bucket, {"rounds": None, "total": None})
        base = rounds or value["rounds"]
        total = None if share is None else round(share * (base or 100))
        if base and total is None and value["total"] is not None and value["total"] > base:
            rounds = None  # it would be refused: the total is over its range
        if (rounds, total, status, shown) == (None, None, None, None):
            total = value["total"] if value["total"] is not None else 1
        self.send(bucket, {"rounds": rounds, "total": total, "status": status, "shown": shown})

    @precondition(lambda self: self.model.decided)
    @rule(back=DAYS_BACK)
    def mark_missing(self, back):
        self.send(self.chosen(back), {"status": "missing"})

    def chosen(self, back):
        """A day: one that was decided, one before the first question, or one not asked for."""
        return max(self.today - back, 1)

    @precondition(lambda self: self.sent and self.sent[1].get("shown", "A") in self.model.names)
    @rule(times=st.integers(1, 2))
    def retry(self, times):
        count = len(self.campaign.history())
        for _ in range(times):
            self.send(*self.sent)
        assert len(self.campaign.history()) <= count + 1  # heard again on a later day, at most

    def send(self, bucket, said):
        said = {key: value for key, value in said.items() if value is not None}
        filled_in = self.make_known(bucket, said.get("shown"))
        if bucket not in self.model.decided:
            with pytest.raises(UnknownBucket):
                self.campaign.record(bucket, **said)
            return
        value = self.model.values[bucket]
        expected = self.apply(bucket, value, said)
        if filled_in and expected == "same":
            expected = "new"  # what was shown is all that was said
        self.sent = bucket, said
        if expected == "conflicting":
            with pytest.raises(Conflicting):
                self.campaign.record(bucket, **said)
            return
        assert self.campaign.record(bucket, **said).verdict == expected

    def make_known(self, bucket, shown):
        """A day that was not asked for is decided by what is said of it; whether it was filled in."""
        model = self.model
        if bucket in model.decided or bucket >= self.today:
            return False
        if bucket > model.last and model.decided:
            model.carry_up_to(bucket + 1)
            return False
        if shown is None:
            return False
        model.fill_in(bucket, model.names.index(shown))
        return True

    def apply(self, bucket, value, said):
        """What the model makes of a record: the verdict, and the value as it is afterwards."""
        end = self.model.end(bucket)
        shown = None if "shown" not in said else self.model.names.index(said["shown"])
        present = self.model.decided[bucket][0] if value["shown"] is None else value["shown"]
        status = said.get("status", value["status"])
        if status == "missing" and "total" in said and "status" not in said:
            status = "provisional"
        if status == "provisional" and value["status"] == "final":
            status = "final"
        changed = {key for key in ("rounds", "total") if key in said and said[key] != value[key]}
        changed |= {"status"} if status != value["status"] else set()
        changed |= {"shown"} if shown is not None and shown != present else set()
        if not changed:
            if value["total"] is not None and "total" in said and value["seen"] < end <= self.now:
                value["seen"] = self.now
            return "same"
        if changed == {"status"} and status == "final" and value["total"] is not None:
            value["status"] = status
            return "same"
        corrects = "status" in changed or any(
            value[key] is not None for key in changed & {"rounds", "total"}
        )
        if value["status"] == "final" and corrects:
            return "conflicting"
        revised = any(value[key] is not None for key in changed - {"status"})
        revised |= "status" in changed and (
            value["total"] is not None or value["status"] != "provisional"
        )
        if "total" in changed:
            value["seen"] = self.now
        value.update({key: said[key] for key in changed & {"rounds", "total"}})
        value["status"] = status
        if "shown" in changed:
            value["shown"] = shown
        if status == "missing":
            value["total"] = value["seen"] = None
        return "revised" if revised else "new"

    @precondition(lambda self: self.model.decided)
    @rule(
        days=st.integers(1, 8),
        rounds=st.integers(500, 900),
        share=st.sampled_from([0.2, 0.5, 0.55]),
        status=st.none() | st.sampled_from(["provisional", "final"]),
        written=st.sampled_from(sorted(WRITTEN)),
    )
    def a_file_of_the_last_days(self, days, rounds, share, status, written):
        """As tools write it: all of it is taken in, or nothing, and the campaign remembers how."""
        said = {
            bucket: {"rounds": rounds, "total": round(share * rounds) + bucket / 2}
            for bucket in list(self.model.decided)[-days:]
        }
        if status is not None:
            said = {bucket: {**each, "status": status} for bucket, each in said.items()}
        after = copy.deepcopy(self.model.values)
        expected = [self.apply(bucket, after[bucket], each) for bucket, each in said.items()]
        write, form = WRITTEN[written]
        text = "".join(
            write(self.model.day(bucket), each["rounds"], each["total"], status or "")
            for bucket, each in said.items()
        )
        result = import_totals(self.campaign, (HEADS[written] + text).encode(), form)
        assert [row.verdict for _, row in result.rows] == expected
        assert result.written == ("conflicting" not in expected)
        if result.written:
            self.model.values = after
            assert self.campaign.state().file_form == form

    @rule()
    def crash_and_reopen(self):
        self.store.close()
        self.store = Store(Path(self.folder) / "campaigns.db")
        self.campaign = Campaign.open("model", store=self.store, clock=self.clock)

    @rule()
    def crash_in_the_middle_of_a_write(self):
        with (
            contextlib.suppress(RuntimeError),
            self.campaign._writing() as (writer, state),
        ):
            body = {"user": "x", "reason": "y"}
            state.apply(writer.append(self.now, "pause", None, body))
            raise RuntimeError

    @rule()
    def hold_or_resume(self):
        if self.model.paused:
            self.campaign.resume(**ME)
            self.model.paused = False  # a pin goes on
        elif self.model.pinned:
            self.campaign.resume(**ME)
            self.model.pinned = None
        else:
            self.campaign.pause(**ME)
            self.model.paused = True

    @rule(arm=st.integers(0, 4), buckets=st.integers(1, 3))
    def pin(self, arm, buckets):
        arm %= len(self.model.names)
        if arm in self.gone:
            with pytest.raises(NotPossible):
                self.campaign.pin(self.model.names[arm], buckets=buckets, **ME)
        else:
            self.campaign.pin(self.model.names[arm], buckets=buckets, **ME)
            self.model.pinned = (arm, buckets, False)

    @rule()
    def unpin(self):
        if self.model.pinned:
            self.campaign.unpin(**ME)
            self.model.pinned = None
        else:
            with pytest.raises(NotPossible):
                self.campaign.unpin(**ME)

    @property
    def gone(self):
        return [gone for gone, _ in self.model.drops]

    @precondition(lambda self: len(self.model.drops) < 2 and len(self.model.decided) > 6)
    @rule(arm=st.integers(0, 4))
    def remove_option(self, arm):
        arm %= len(self.model.names)
        if arm in self.gone:
            return
        self.campaign.remove_option(self.model.names[arm], **ME)
        self.model.drops.append((arm, self.model.last + 1))
        if self.model.pinned and self.model.pinned[0] == arm:
            self.model.pinned = None

    @precondition(lambda self: self.model.drops)
    @rule(which=st.integers(0, 1))
    def restore_option(self, which):
        arm, _ = self.model.drops.pop(which % len(self.model.drops))
        self.campaign.restore_option(self.model.names[arm], **ME)

    @precondition(lambda self: len(self.model.names) < 5)
    @rule()
    def add(self):
        name = f"new {len(self.model.names)}"
        if self.model.kind == "odaaf":
            with pytest.raises(NotPossible, match=r"odaaf cannot .* ars-ucb"):
                self.campaign.add_option(name, **ME)
            return
        self.campaign.add_option(name, **ME)
        self.model.names.append(name)

    @rule(arm=st.integers(0, 4), suffix=st.sampled_from(["x", "y"]))
    def rename(self, arm, suffix):
        arm %= len(self.model.names)
        before, name = self.model.names[arm], f"{self.model.names[arm][:5]}{suffix}"
        if name in self.model.names:
            return
        self.campaign.rename_option(before, name, **ME)
        self.model.names[arm] = name
        with pytest.raises(InvalidInput):
            self.campaign.record(1, shown=before)

    @rule(kind=st.sampled_from(list(POLICIES)))
    def change_policy(self, kind):
        if kind == self.model.kind:
            with pytest.raises(NotPossible, match="nothing was changed"):
                self.campaign.change(policy=kind, **ME)
            return
        self.campaign.change(policy=kind, parameters=POLICIES[kind], **ME)
        self.model.kind, self.model.parameters = kind, dict(POLICIES[kind])

    @precondition(lambda self: self.model.kind == "odaaf")
    @rule(days=st.integers(40, 90), delay=st.sampled_from([3, 8, 20]))
    def change_horizon_and_delay(self, days, delay):
        wanted = {"horizon": f"{days} days", "mean_delay": delay}
        after = {"horizon": days * EXPECTED, "mean_delay": delay}
        if after != self.model.parameters:
            self.campaign.change(parameters=wanted, **ME)
            self.model.parameters = after

    @precondition(lambda self: self.model.decided)
    @rule(arm=st.integers(0, 4), days=st.integers(0, 3), between=st.integers(0, 2))
    def finish_and_reopen(self, arm, days, between):
        arm %= len(self.model.names)
        if arm in self.gone:
            return
        self.now += timedelta(days=between)
        self.campaign.finish(self.model.names[arm], **ME)
        finished_at = self.now
        self.now += timedelta(days=days)
        if self.model.last < self.today:
            assert self.campaign.decide().source == "finished"
        self.campaign.reopen(**ME)
        for bucket in range(self.model.last + 1, self.today + 1):
            if self.model.end(bucket) <= finished_at:
                self.model.carry_up_to(bucket + 1)
            else:
                self.model.add(bucket, arm, "override", bucket)
        self.model.paused, self.model.pinned = False, None

    @invariant()
    def the_log_says_what_the_model_says(self):
        if not hasattr(self, "campaign"):
            return
        state = self.campaign.state()
        assert [(d.arm, d.purpose) for d in state.decisions.values()] == list(
            self.model.decided.values()
        )
        assert list(state.decisions) == list(self.model.decided)
        for bucket, value in self.model.values.items():
            seen = state.value(bucket)
            assert (seen.rounds, seen.total, seen.status, seen.shown) == (
                value["rounds"],
                value["total"],
                value["status"],
                value["shown"],
            )
        assert self.campaign.estimates() == self.model.policy(self.now).estimates()

    @rule()
    def replay(self):
        assert replay_log(self.campaign.first_config, self.campaign.history()) == []


Comparison.TestCase.settings = settings(
    max_examples=14,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestAgainstTheModel = Comparison.TestCase


class LongComparison(Comparison):
    pass


LongComparison.TestCase.settings = settings(
    max_examples=250,
    stateful_step_count=60,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestAgainstTheModelForLong = pytest.mark.slow(LongComparison.TestCase)
