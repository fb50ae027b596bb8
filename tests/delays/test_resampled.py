"""Many curves at once are the same curves one by one."""

import numpy as np
import pytest

from latesum.delays.curves import Curve


@pytest.mark.parametrize("largest", [None, 30.0])
def test_each_row_is_a_curve(largest):
    rng = np.random.default_rng(2)
    times = np.array([0.0, 1.0, 1.0, 4.0, 9.0, 9.0, 12.0])
    alive = np.sort(rng.random((20, 7)), axis=1)[:, ::-1]
    alive[:, 0] = 1.0
    alive[:5, -1] = 0.0
    tails = None if largest is not None else rng.uniform(1, 9, 20)
    curves = Curve(times, alive, tails, largest)
    at = np.linspace(-1, 40, 60)
    for make in ("earliest", "latest", "widest"):
        many = getattr(curves, make)()
        for row in range(20):
            one = Curve(times, alive[row], None if tails is None else tails[row], largest)
            one = getattr(one, make)()
            assert many.mean[row] == pytest.approx(one.mean)
            assert many.variance[row] == pytest.approx(one.variance, abs=1e-9)
            for share in (0.1, 0.5, 0.9, 0.99):
                assert many.quantile(share)[row] == pytest.approx(one.quantile(share))
            assert many.survival(at)[row] == pytest.approx(one.survival(at))
