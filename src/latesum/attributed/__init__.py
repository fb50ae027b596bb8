"""Attributed baselines: policies that receive every reward with the arm that earned it.

They are references for policies that see only totals. Their protocol is another one, so that no
attributed reward reaches such a policy by mistake.
"""

from latesum._plugins import POLICIES
from latesum.attributed.policies import (
    BASES,
    DUCB,
    KLDUCB,
    QPMD,
    SDB,
    AttributedPolicy,
    DelayedUCB1,
    ImprovedUCB,
)
from latesum.attributed.runner import run

__all__ = [
    "BASES",
    "DUCB",
    "KLDUCB",
    "QPMD",
    "SDB",
    "AttributedPolicy",
    "DelayedUCB1",
    "ImprovedUCB",
    "run",
]

for _class in (QPMD, DelayedUCB1, SDB, DUCB, KLDUCB, ImprovedUCB):
    POLICIES.add(_class.kind, _class)
