"""Plan a test of three prices, look at the answer, and hand the policy on.

python examples/plan/plan_a_test.py
"""

from pathlib import Path

import latesum
from latesum.planning import plan

HERE = Path(__file__).parent


def main() -> None:
    """Fit the delays, plan, and simulate what was recommended once more."""
    fitted = latesum.delays.fit(HERE / "delays.csv", unit="hour")
    print(fitted)
    found = plan(
        options=3, rate=0.03, lift="15%", traffic="6000 per day", late=fitted, run_for="10 weeks",
        replications=200,
    )  # fmt: skip
    print(found)

    recommended = found.to_json()["recommendation"]
    policy = found.policy()
    result = latesum.compare(
        found.inputs.problem(), {recommended["label"]: policy}, recommended["horizon"],
        bucket=recommended["bucket"], replications=20, seed=2,
    )  # fmt: skip
    print(result)


if __name__ == "__main__":
    main()
