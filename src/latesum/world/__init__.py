"""What nature does: rewards, and a problem that plays stretches."""

from latesum.world.calendar import Calendar
from latesum.world.field import FieldProblem
from latesum.world.problem import Problem, World
from latesum.world.reporting import Background, Reporting
from latesum.world.rewards import Bernoulli, Beta, Constant, Discrete, Reward, Scaled, Uniform

__all__ = [
    "Background",
    "Bernoulli",
    "Beta",
    "Calendar",
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
