"""A compiled run is the run that Python plays: the same plays, the same state, the same draws left."""

import tracemalloc

import numpy as np
import pytest

from latesum import ODAAF, Beta, Flow, Problem
from latesum.experiments import RunSpec
from latesum.experiments.play import InBuckets, Poor
from latesum.experiments.plays import Plays
from latesum.experiments.whole_runs import COMPILED
from latesum.policies import Play, PolicySpec
from latesum.policies import purpose_kernels as purposes
from latesum.policies.base import PURPOSES
from latesum.simulation import Calendar, FieldProblem, Reporting, cohorts, kernels

SPECS = ("flow", "flow(index='ucb1', caution=0)", "flow(index='kl-ucb')", "unmix", "unmix-untold")
PROBLEMS = {
    "two arms": Problem([0.5, 0.6], "uniform(0, 100)"),
    "without delay": Problem([0.0, 0.7, 1.0], "constant(0)"),
    "a delay for each arm": Problem([0.3, 0.5, 0.45], ["constant(7)", "uniform(0, 30)", "poisson(9).clipped(40)"]),
}  # fmt: skip


def both(setting, numbers=(0,), until=None):
    """Each run as Python plays it and as compiled code does, perhaps in two pieces."""
    for number in numbers:
        games = [setting._game(number, setting.horizon) for _ in range(2)]
        pieces = [setting.horizon] if until is None else [until, setting.horizon]
        (plain, _), (compiled, _) = games
        expected = [list(plain.play(piece)) for piece in pieces]
        played = [compiled.plays(piece) for piece in pieces]
        yield expected, played, *games


def assert_same_runs(setting, numbers=(0,), until=None):
    """Whether they are the same in all that can be asked; and the plays."""
    for expected, played, (plain, one), (compiled, other) in both(setting, numbers, until):
        assert all(isinstance(piece, Plays) for piece in played)
        assert [list(piece) for piece in played] == expected
        assert other.to_state() == one.to_state()
        assert other.ask() == one.ask()
        assert other.estimates() == one.estimates()
        assert other.explain() == one.explain()
        assert compiled.rounds_played == plain.rounds_played == setting.horizon
        worlds = plain._world, compiled._world
        states = [world._rng.bit_generator.state for world in worlds]
        assert states[0] == states[1]
        assert worlds[0].rounds_played == worlds[1].rounds_played
        assert worlds[0].outstanding == worlds[1].outstanding
    return played


@pytest.mark.filterwarnings("ignore:phase")
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("text", SPECS)
def test_a_compiled_run_is_the_run(text, problem):
    setting = RunSpec(PROBLEMS[problem], PolicySpec.parse(text), 30_000, seed=5)
    assert_same_runs(setting, range(2))


@pytest.mark.parametrize("text", ["odaaf", "flow", "ars-ucb", "round-robin(block=130)", "unmix"])
def test_in_buckets(text):
    problem = PROBLEMS["two arms"]
    assert_same_runs(RunSpec(problem, PolicySpec.parse(text), 30_030, reports=InBuckets(100)))


#: A world that is played in whole buckets, with delays of many of them.
BUCKETS = {
    "a curve": Problem([0.03, 0.036, 0.03], "tabulated([0, 2000, 48000], [0, 0.5, 0.95], 16000)"),
    "a delay for each arm": Problem([0.03, 0.05, 0.04], ["constant(7)", "uniform(0, 9000)", "exponential(20000)"]),
}  # fmt: skip


def in_buckets(problem, text, **more):
    return RunSpec(
        problem, PolicySpec.parse(text), 480_000, reports=InBuckets(12_000), world="buckets", seed=3,
        **more,
    )  # fmt: skip


def assert_same_in_buckets(setting, until=None):
    for expected, played, (plain, one), (compiled, other) in both(setting, range(3), until):
        assert all(isinstance(piece, Plays) for piece in played)
        assert [list(piece) for piece in played] == expected
        assert other.to_state() == one.to_state()
        worlds = plain._world, compiled._world
        assert worlds[0].buckets_played == worlds[1].buckets_played == 40
        states = [world._rng.bit_generator.state for world in worlds]
        assert states[0] == states[1]
        assert worlds[0]._due.tolist() == worlds[1]._due.tolist()


@pytest.mark.filterwarnings("ignore:phase")
@pytest.mark.parametrize("problem", BUCKETS)
@pytest.mark.parametrize("text", ["odaaf", "ars-ucb", "fixed-split", "unmix"])
def test_a_world_in_buckets(text, problem):
    assert_same_in_buckets(in_buckets(BUCKETS[problem], text))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:phase")
@pytest.mark.parametrize("problem", BUCKETS)
@pytest.mark.parametrize("text", SPECS)
def test_a_world_in_buckets_for_every_policy(text, problem):
    """Delays of some worlds have no bound: a policy that must be told one is told some number."""
    told = {"odaaf-b": "odaaf-b(delay_bound=60000)", "naive": "naive(delay_bound=60000)"}
    told["odaaf-b(bridge=False)"] = "odaaf-b(bridge=False, delay_bound=60000)"
    assert_same_in_buckets(in_buckets(BUCKETS[problem], told.get(text, text)))


def test_a_world_in_buckets_with_a_history_and_in_two_pieces():
    setting = in_buckets(BUCKETS["a curve"], "unmix", before=1, history=60_000)
    assert_same_in_buckets(setting, until=96_000)


@pytest.mark.parametrize(
    "problem",
    [
        Problem([Beta(1, 30), 0.03], "uniform(0, 9000)"),
        Problem([0.03, 0.05], "poisson(5000)"),
        FieldProblem([0.03, 0.05], "uniform(0, 9000)", calendar=Calendar(12_000, (1.0, 0.5))),
    ],
)
def test_python_plays_what_is_drawn_otherwise_in_buckets(problem):
    game, _ = in_buckets(problem, "round-robin")._game(0, 480_000)
    assert type(game.plays(480_000)) is list
    game, _ = in_buckets(BUCKETS["a curve"], "round-robin")._game(0, 480_000)
    assert isinstance(game.plays(480_000), Plays)


@pytest.mark.parametrize(
    "text", ["odaaf", "flow", "ars-ucb", "fixed-split", "round-robin", "unmix", "unmix-untold"]
)
def test_in_two_pieces(text):
    """The last block of the first piece is cut short: the second goes on with it."""
    setting = RunSpec(PROBLEMS["two arms"], PolicySpec.parse(text), 30_000)
    for expected, played, (_, one), (_, other) in both(setting, range(3), until=12_345):
        assert [play for piece in played for play in piece] == [p for e in expected for p in e]
        assert other.to_state() == one.to_state()


@pytest.mark.parametrize("delay", ["exponential(3)", "geometric(30)"])
def test_delays_beyond_the_table(delay):
    """With 4e8 rounds there are about 40 of them: Python takes part, and nothing else changes."""
    setting = RunSpec(Problem([0.5, 0.6], delay), PolicySpec.parse("flow"), 4 * 10**8)
    assert_same_runs(setting, range(2))
    later = []
    game, _ = setting._game(0, setting.horizon)
    finish = game._world.finish
    game._world.finish = lambda *block: later.append(block) or finish(*block)
    game.plays(setting.horizon)
    assert {block[3] for block in later} >= {1}


def test_many_late_rewards():
    """A short table, so that every step at which Python takes over is met."""
    steps = set()
    for number in range(3):
        setting = RunSpec(Problem([0.5, 0.6], "exponential(3)"), PolicySpec.parse("flow"), 20_000)
        games = [setting._game(number, setting.horizon)[0] for _ in range(2)]
        for game in games:
            _shorten(game._world, 5)
        finish = games[1]._world.finish
        games[1]._world.finish = lambda *block, finish=finish: steps.add(block[3]) or finish(*block)
        assert list(games[0].play(20_000)) == games[1].plays(20_000)
        states = [game._world._rng.bit_generator.state for game in games]
        assert states[0] == states[1]
    assert steps == {0, 1, 2}


def _shorten(world, spread):
    """Let the table of the delay end early."""
    problem, table = world._problem, world._channels[0].table
    doublings = np.arange(40)
    # So rare beyond the table that both ways of counting them are met.
    short = table._replace(
        spread=spread, cdf=np.append(table.cdf[:spread], 1 - 4e-3),
        guide=np.minimum(np.searchsorted(np.append(table.cdf[:spread], 1 - 4e-3), np.arange(spread + 2) / (spread + 1), side="right"), spread),
        tail=np.append(4e-3, world._channels[0].delay.survival(spread * 2 ** doublings[1:])),
    )  # fmt: skip
    channels = tuple(each._replace(table=short) for each in world._channels)
    world._channels = problem._channels = channels
    problem.__dict__.pop("_bernoulli_tables", None)
    world._carry, world._beyond = np.zeros(spread), np.empty(spread, dtype=np.int64)


def test_short_blocks_and_a_long_delay_need_more_room():
    """Flow remembers what was played within two mean delays, here more plays than at first."""
    policy = Flow(20, 3_000, mean_delay=2_000)
    setting = RunSpec(
        Problem([0.2] * 19 + [0.5], "uniform(0, 3999)"), PolicySpec.of(policy), 3_000, seed=3
    )
    played = assert_same_runs(setting)
    assert len(played[0]) > 20


@pytest.mark.parametrize("text", ["flow", "unmix"])
def test_an_arm_that_ran_before(text):
    problem = PROBLEMS["two arms"]
    setting = RunSpec(problem, PolicySpec.parse(text), 20_000, before=1, history=500)
    assert_same_runs(setting, range(2))


def test_unmix_searches_in_python():
    """Second opinions, another curve than the one told, arms in doubt and full arrays, and the same parts."""
    problem = Problem([0.3, 0.25, 0.28], "mixture((0.5, constant(0)), (0.5, constant(900)))")
    setting = RunSpec(problem, PolicySpec.parse("unmix(mean_delay=30)"), 60_000)
    seen = set()
    for expected, played, (_, one), (_, other) in both(setting, range(2)):
        assert isinstance(played[0], Plays)
        assert played == expected
        assert other.to_state() == one.to_state()
        seen.add(other._wide)
        assert len(played[0]) > len({play.number for play in played[0]})  # blocks in parts
    assert True in seen  # another curve than the one told was likelier


LONG = {
    "uniform(0, 9000)": 300_000,
    "exponential(20000)": 10**6,
    "geometric(9000)": 300_000,
    "pareto(1.5, 9000)": 10**6,
    "mixture((0.5, constant(0)), (0.5, uniform(0, 30000)))": 300_000,
}


#: For these, runs with long delays are not compiled by `latesum warm-up`.
_RARELY_LONG = ("ars-ucb", "ars-ucb(growth=1.3)", "fixed-split", "oracle")


@pytest.mark.filterwarnings("ignore:phase")
@pytest.mark.parametrize(
    "text",
    [pytest.param(text, marks=pytest.mark.slow if text in _RARELY_LONG else ()) for text in SPECS],
)
def test_long_delays(text):
    """All of one law with each policy; the first blocks of ARS-UCB are short, and drawn one by one."""
    problem = Problem([0.3, 0.5, 0.45], "uniform(0, 9000)")
    rounds = 20_000 if text == "round-robin" else 100_000  # a block of it is one round
    assert_same_runs(RunSpec(problem, PolicySpec.parse(text), rounds, seed=5))


@pytest.mark.parametrize("delay", LONG)
def test_long_delays_of_each_law(delay):
    problem = Problem([0.5, 0.6], delay)
    assert_same_runs(RunSpec(problem, PolicySpec.parse("flow"), LONG[delay], seed=2))
    if delay.startswith("uniform"):
        late = RunSpec(problem, PolicySpec.parse("ars-ucb"), 10_000, reports=InBuckets(1, 500))
        assert_same_late_runs(late)


@pytest.mark.slow
@pytest.mark.parametrize("delay", LONG)
def test_more_runs_with_long_delays_of_each_law(delay):
    problem = Problem([0.5, 0.6], delay)
    assert_same_runs(RunSpec(problem, PolicySpec.parse("flow"), LONG[delay], seed=2), range(6))
    late = RunSpec(problem, PolicySpec.parse("ars-ucb"), 30_000, reports=InBuckets(1, 500))
    assert_same_late_runs(late, range(3))


def test_long_delays_that_need_more_room(monkeypatch):
    """With next to no room at first, Python plays what has none: a block, or which plays pay late."""
    monkeypatch.setattr(cohorts, "_ROOM", 1)
    setting = RunSpec(
        Problem([0.5, 0.6], "uniform(0, 9000)"), PolicySpec.parse("flow"), 300_000, seed=2
    )
    steps = set()
    games = [setting._game(1, setting.horizon)[0] for _ in range(2)]
    finish = games[1]._world.finish
    games[1]._world.finish = lambda *block: steps.add(block[3]) or finish(*block)
    assert list(games[0].play(300_000)) == games[1].plays(300_000)
    assert steps >= {kernels.NOT_SENT, kernels.ON_THE_WAY}


def test_long_delays_whose_rewards_are_looked_for():
    """Blocks just long enough for cohorts: most of these are looked at often, and then resolved."""
    setting = RunSpec(
        Problem([0.9, 0.8], "exponential(20000)"), PolicySpec.parse("round-robin(block=500)"), 300_000
    )  # fmt: skip
    games, steps = [setting._game(1, setting.horizon)[0] for _ in range(2)], []
    finish = games[1]._world.finish
    games[1]._world.finish = lambda *block: steps.append(block[3]) or finish(*block)
    assert list(games[0].play(300_000)) == games[1].plays(300_000)
    assert steps.count(kernels.ON_THE_WAY) > 3


def test_long_delays_of_an_arm_that_ran_before():
    problem = Problem([0.5, 0.6], "uniform(0, 9000)")
    setting = RunSpec(problem, PolicySpec.parse("flow"), 200_000, before=1)
    assert_same_runs(setting, range(2))


LATE = [text for text in SPECS if not text.startswith("unmix")]


def assert_same_late_runs(setting, numbers=(0,), spread=None):
    """As `assert_same_runs`; what is not known at the end becomes known in 3,000 more rounds.

    With a `spread`, the tables of delays end there.
    """
    seen = []
    for number in numbers:
        (plain, one), (compiled, other) = (setting._game(number, setting.horizon) for _ in range(2))
        if spread is not None:
            _shorten(plain._world, spread)
            _shorten(compiled._world, spread)
        expected, played = list(plain.play(setting.horizon)), compiled.plays(setting.horizon)
        assert isinstance(played, Plays)
        assert played == expected
        assert other.to_state() == one.to_state()
        assert other.explain() == one.explain()
        assert compiled._feed._reports == plain._feed._reports
        longer = setting.horizon + 3_000
        assert list(compiled.play(longer)) == list(plain.play(longer))
        assert other.to_state() == one.to_state()
        states = [game._world._rng.bit_generator.state for game in (plain, compiled)]
        assert states[0] == states[1]
        seen += played
    return seen


#: What is known after three rounds is hardly late: with these alone in the default run.
_SOON = ("odaaf", "odaaf-b", "flow", "ars-ucb", "round-robin")


@pytest.mark.filterwarnings("ignore:phase")
@pytest.mark.parametrize(
    ("text", "reports"),
    [
        pytest.param(
            text, reports,
            marks=pytest.mark.slow if reports.lag == 3 and text not in _SOON else (),
        )
        for text in LATE
        for reports in (InBuckets(1, 100), InBuckets(1, 3), InBuckets(40, 130))
    ],
    ids=str,
)  # fmt: skip
def test_totals_that_are_known_late(text, reports):
    problem = PROBLEMS["a delay for each arm"]
    setting = RunSpec(problem, PolicySpec.parse(text), 2_500, seed=5, reports=reports)
    assert_same_late_runs(setting)


@pytest.mark.parametrize("delay", ["uniform(0, 90)", "geometric(9000)"])
@pytest.mark.parametrize("text", ["odaaf", "flow", "ars-ucb"])
def test_late_totals_in_two_pieces(text, delay):
    """The last block of the first piece is cut short, and its total is awaited: the second goes on with it."""
    problem, reports = Problem([0.3, 0.5, 0.45], delay), InBuckets(500, 1_300)
    setting = RunSpec(problem, PolicySpec.parse(text), 60_000, seed=5, reports=reports)
    (plain, one), (compiled, other) = (setting._game(1, 60_000) for _ in range(2))
    first = compiled.last_plays(20_700)
    assert isinstance(first, Plays)
    expected = [list(plain.play(until)) for until in (20_700, 60_000)]
    played = []
    plain_play, compiled.play = compiled.play, lambda until: played.append(until) or []
    second = compiled.plays(60_000)
    assert not played  # by Python
    assert [list(first), second] == expected
    assert other.to_state() == one.to_state()
    assert other.ask() == one.ask()
    states = [game._world._rng.bit_generator.state for game in (plain, compiled)]
    assert states[0] == states[1]
    compiled.play = plain_play
    assert compiled.plays(70_000) == list(plain.play(70_000))


def test_late_totals_with_delays_beyond_the_table():
    """A short table, so that few rounds are enough to go beyond it."""
    setting = RunSpec(
        Problem([0.5, 0.6], "exponential(3)"), PolicySpec.parse("flow"), 20_000,
        reports=InBuckets(1, 100),
    )  # fmt: skip
    assert_same_late_runs(setting, range(2), spread=5)


@pytest.mark.slow
def test_late_totals_with_delays_beyond_a_whole_table():
    setting = RunSpec(
        Problem([0.5, 0.6], "geometric(30)"), PolicySpec.parse("flow"), 4 * 10**8,
        reports=InBuckets(1, 10_000),
    )  # fmt: skip
    assert_same_late_runs(setting)


def test_many_plays_whose_totals_are_awaited():
    """More than there is room for at first: in the list of plays, and in what Flow remembers."""
    policy = Flow(20, 3_000, mean_delay=2_000)
    setting = RunSpec(
        Problem([0.2] * 19 + [0.5], "uniform(0, 3999)"), PolicySpec.of(policy), 3_000, seed=3,
        reports=InBuckets(7, 500),
    )  # fmt: skip
    assert len(assert_same_late_runs(setting)) > 400


def test_the_policy_of_a_run_is_told_all_of_it():
    """What is told last is told when somebody asks for the policy."""
    for reports in (InBuckets(1), InBuckets(1, 50)):
        setting = RunSpec(PROBLEMS["two arms"], PolicySpec.parse("flow"), 5_000, reports=reports)
        run, (game, policy) = setting.run(3), setting._game(3, 5_000)
        list(game.play(5_000))
        assert run.policy.to_state() == policy.to_state()


class Stubborn(ODAAF):
    """A policy of one's own: it learns nothing."""

    kind = "stubborn"

    def _learn(self, play):
        pass


def test_python_plays_what_is_not_all_kernel():
    own = Stubborn(2, 5_000, mean_delay=50)
    others = {
        "a subclass": RunSpec(PROBLEMS["two arms"], PolicySpec.of(own), 5_000),
        "rewards that are not 0 or 1": RunSpec(
            Problem([Beta(1, 2), 0.5], "uniform(0, 9)"), PolicySpec.parse("odaaf"), 5_000
        ),
        "long delays whose law compiled code does not know": RunSpec(
            Problem([0.4, 0.5], "half_normal(9000, 9000)"), PolicySpec.parse("odaaf"), 5_000
        ),
        "long delays that differ": RunSpec(
            Problem([0.4, 0.5], ["uniform(0, 9000)", "uniform(0, 9001)"]),
            PolicySpec.parse("odaaf"),
            5_000,
        ),
        "parts that are reported late": RunSpec(
            PROBLEMS["two arms"], PolicySpec.parse("unmix"), 5_000, reports=InBuckets(1, 10)
        ),
        "poor reports": RunSpec(
            PROBLEMS["two arms"],
            PolicySpec.parse("odaaf"),
            5_000,
            reports=Poor(10, 20, Reporting(missing=0.2)),
        ),
    }
    for setting in others.values():
        for expected, played, (_, one), (_, other) in both(setting):
            assert isinstance(played[0], list)
            assert played == expected
            assert other.to_state() == one.to_state()
    assert Stubborn not in COMPILED


def test_a_policy_that_has_lost_an_option():
    problem = PROBLEMS["a delay for each arm"]
    for text in ("odaaf", "flow", "ars-ucb", "fixed-split", "round-robin", "oracle", "unmix"):
        setting = RunSpec(problem, PolicySpec.parse(text), 9_000)
        games = [setting._game(0, 9_000) for _ in range(2)]
        for _, policy in games:
            policy.drop(1)
        (plain, one), (compiled, other) = games
        expected, played = list(plain.play(9_000)), compiled.plays(9_000)
        assert isinstance(played, Plays)
        assert played == expected
        assert 1 not in {play.arm for play in played}
        assert other.to_state() == one.to_state()


def test_purposes_have_one_numbering():
    numbers = [purposes.LEARN, purposes.BRIDGE, purposes.COMMIT, purposes.OVERRIDE]
    assert [PURPOSES[number] for number in numbers] == ["learn", "bridge", "commit", "override"]


def test_plays_are_a_sequence_of_plays():
    plays = Plays(first=4)
    for number in range(300):  # more than there is room for at first
        plays.add(number % 2, 10 + number, number / 2, "learn" if number % 3 else "bridge")
    assert len(plays) == 300
    assert plays[0] == Play(0, 10, 0.0, "bridge", 4)
    assert plays[-1] == Play(1, 309, 149.5, "learn", 303)
    assert plays[1:3] == [Play(1, 11, 0.5, "learn", 5), Play(0, 12, 1.0, "learn", 6)]
    assert list(plays) == plays
    with pytest.raises(IndexError):
        plays[300]


@pytest.mark.parametrize(
    ("delay", "horizon"),
    [("uniform(0, 100)", 10**7), ("uniform(0, 20000)", 10**6), ("pareto(1.5, 20000)", 10**7)],
)
def test_a_run_needs_less_than_50_megabytes(delay, horizon):
    problem = Problem([0.5, 0.6], delay)
    setting = RunSpec(problem, PolicySpec.of(Flow(2, horizon, mean_delay=100)), horizon)
    setting.run(0)  # what is made once, and kept
    tracemalloc.start()
    setting.run(1)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 50 * 2**20
