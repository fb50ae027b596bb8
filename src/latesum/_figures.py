"""Figures that are shown as images. Matplotlib is an extra and is imported when a figure is made."""

from __future__ import annotations

import functools
import io
from pathlib import Path
from typing import TYPE_CHECKING

from latesum._checks import InvalidInput
from latesum._extras import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure_class() -> type[Figure]:
    """Matplotlib's figure, which a notebook shows as an image also where pyplot was never loaded.

    >>> figure_class()(figsize=(2, 1))._repr_png_()[1:4]
    b'PNG'
    """
    require("matplotlib", "plots")  # at every call: it may say that the extra is missing
    return _shown_figure()


def save(figure: Figure, path: str | Path | None) -> Figure:
    """Write a figure where a path is given; the ending of its name says in which format.

    >>> save(figure_class()(), "mine.txt")    # doctest: +ELLIPSIS
    Traceback (most recent call last):
    latesum.errors.InvalidInput: cannot write the figure mine.txt: Format 'txt' is not supported ...
    """
    if path is not None:
        try:
            figure.savefig(path, dpi=150)
        except (OSError, ValueError) as error:
            raise InvalidInput(f"cannot write the figure {path}: {error}.") from error
    return figure


@functools.cache
def _shown_figure() -> type[Figure]:
    from matplotlib.figure import Figure

    class ShownFigure(Figure):
        """A figure that is its own image."""

        def _repr_png_(self) -> bytes:
            file = io.BytesIO()
            self.savefig(file, format="png", dpi=100)
            return file.getvalue()

    return ShownFigure
