"""What nature does: rewards, and a problem that plays blocks."""

from latesum.simulation.calendar import Calendar
from latesum.simulation.composite import CompositeProblem
from latesum.simulation.field import FieldProblem
from latesum.simulation.problem import Problem
from latesum.simulation.reporting import Background, Reporting
from latesum.simulation.rewards import Bernoulli, Beta, Constant, Discrete, Reward, Scaled, Uniform
from latesum.simulation.world import World

__all__ = [
    "Background",
    "Bernoulli",
    "Beta",
    "Calendar",
    "CompositeProblem",
    "Constant",
    "Discrete",
    "FieldProblem",
    "Problem",
    "Reporting",
    "Reward",
    "Scaled",
    "Uniform",
    "World",
]
