"""How often suboptimal convergence is chance: that of a policy with immediate attributed feedback.

    python studies/chance.py                   # 50,000 problems of the wide law, two minutes
    python studies/chance.py --problems 1000

On a problem of 2,000 rounds with close arms or small rates no policy can know the best arm, and
some runs stay with another one for long. KL-UCB++ without any delay says how often; what a policy
that sees totals loses beyond that is its own. Only problems of at most 8,000 rounds are played: in
longer ones the best arm can be found.
"""

from __future__ import annotations

import argparse
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from latesum._kl_kernels import bernoulli_upper, exploration
from latesum.experiments.run import harmful_gap
from latesum.experiments.spec import RunSpec
from latesum.policies import PolicySpec
from safety import HARMFUL_SHARE, LAWS

LONGEST = 8_000
LONGER = 10
_SEED = 82
#: Past the horizon all indices change in every round; they are computed once in so many.
_INDICES_ANEW = 16


@numba.njit  # type: ignore[untyped-decorator]
def index(mean: float, plays: float, planned: float, n_arms: int) -> float:
    """The index of KL-UCB++ (Menard and Garivier, 2017)."""
    allowance = exploration(plays, n_arms, 0.0, planned)
    upper: float = bernoulli_upper(mean, allowance / plays, 1e-6)
    return upper


@numba.njit  # type: ignore[untyped-decorator]
def played_late(means: NDArray[Any], horizon: int, until: int, seed: int) -> NDArray[Any]:
    """How often each arm is played in the last half of `horizon` and of `until` rounds."""
    np.random.seed(seed)
    n_arms = len(means)
    plays, rewards, late = np.zeros(n_arms), np.zeros(n_arms), np.zeros((2, n_arms))
    values = np.full(n_arms, np.inf)
    for now in range(until):
        if now > horizon and now % _INDICES_ANEW == 0:
            for arm in range(n_arms):
                values[arm] = index(rewards[arm] / plays[arm], plays[arm], now, n_arms)
        arm = int(np.argmax(values))
        plays[arm] += 1
        rewards[arm] += np.random.random() < means[arm]
        values[arm] = index(rewards[arm] / plays[arm], plays[arm], max(horizon, now), n_arms)
        late[0, arm] += horizon // 2 <= now < horizon
        late[1, arm] += now >= until // 2
    return late


def main() -> None:
    """Count runs that are stuck by both definitions, and print them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--problems", type=int, default=50_000, help="the number of problems")
    parser.add_argument("--seed", type=int, default=_SEED, help="the same seed gives the same runs")
    given = parser.parse_args()
    law = RunSpec(LAWS["wide"], PolicySpec("unmix", {"delay": None}), 2_000_000, seed=given.seed)
    short = possibly = played_on = anew = 0
    for number in range(given.problems):
        drawn = law.drawn(number)
        if drawn.horizon > LONGEST:
            continue
        short += 1
        problem = drawn.prepared[0]
        harmful = np.array(problem.gaps) >= harmful_gap(problem, share=HARMFUL_SHARE)
        means, horizon, longer = np.array(problem.means), drawn.horizon, LONGER * drawn.horizon
        late = played_late(means, horizon, horizon, 2 * number)[0]
        if late[harmful].sum() <= (horizon - horizon // 2) / 2:
            continue
        possibly += 1
        late = played_late(means, horizon, longer, 2 * number)[1]
        played_on += bool(late[harmful].sum() > (longer - longer // 2) / 2)
        late = played_late(means, longer, longer, 2 * number + 1)[1]
        anew += bool(late[harmful].sum() > (longer - longer // 2) / 2)
    print(
        f"{given.problems:,} problems, {short:,} of them with at most {LONGEST:,} rounds: "
        f"{possibly} possibly stuck, "
        f"{played_on} stuck when played on to {LONGER} times the horizon, "
        f"{anew} when that is given from the start."
    )


if __name__ == "__main__":
    main()
