"""What nature does: rewards, delays, and a problem that plays stretches."""

from latesum.world import delays
from latesum.world.delays import Delay
from latesum.world.problem import Problem, World
from latesum.world.rewards import Bernoulli, Beta, Constant, Discrete, Reward, Scaled, Uniform

__all__ = [
    "Bernoulli",
    "Beta",
    "Constant",
    "Delay",
    "Discrete",
    "Problem",
    "Reward",
    "Scaled",
    "Uniform",
    "World",
    "delays",
]
