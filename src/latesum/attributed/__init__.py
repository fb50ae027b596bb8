"""The baselines that see which arm paid.

Every reward reaches them with the arm it belongs to. They are yardsticks for policies that see
only totals, and their protocol is another one, so that no label reaches such a policy by mistake.
"""

from latesum._plugins import POLICIES
from latesum.attributed.bases import BASES
from latesum.attributed.delayed_ucb1 import DelayedUCB1
from latesum.attributed.ducb import DUCB, KLDUCB
from latesum.attributed.improved_ucb import ImprovedUCB
from latesum.attributed.policy import AttributedPolicy, Steps
from latesum.attributed.qpmd import QPMD
from latesum.attributed.runner import AttributedRun, run
from latesum.attributed.sbd import SBD

__all__ = [
    "BASES",
    "DUCB",
    "KLDUCB",
    "QPMD",
    "SBD",
    "AttributedPolicy",
    "AttributedRun",
    "DelayedUCB1",
    "ImprovedUCB",
    "Steps",
    "run",
]

for _class in (QPMD, DelayedUCB1, SBD, DUCB, KLDUCB, ImprovedUCB):
    POLICIES.add(_class.kind, _class)
