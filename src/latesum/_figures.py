"""Figures that are shown as images. Matplotlib is an extra and is imported when a figure is made."""

from __future__ import annotations

import functools
import io
from typing import TYPE_CHECKING

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
