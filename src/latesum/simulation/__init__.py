"""What nature does: rewards, and a problem that plays blocks."""

from latesum.simulation.composite import CompositeProblem
from latesum.simulation.field import Calendar, FieldProblem
from latesum.simulation.problem import Problem
from latesum.simulation.rewards import Bernoulli, Beta, Discrete, Reward
from latesum.simulation.world import World

__all__ = [
    "Bernoulli",
    "Beta",
    "Calendar",
    "CompositeProblem",
    "Discrete",
    "FieldProblem",
    "Problem",
    "Reward",
    "World",
]
