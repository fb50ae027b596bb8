"""Figures that are shown as images. Matplotlib is an extra and is imported when a figure is made."""

from __future__ import annotations

import functools
import io
from typing import TYPE_CHECKING

from latesum._extras import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@functools.cache
def figure_class() -> type[Figure]:
    """Matplotlib's figure, which a notebook shows as an image also where pyplot was never loaded."""
    base = require("matplotlib.figure", "plots").Figure

    class ShownFigure(base):  # type: ignore[misc, valid-type]
        """A figure that is its own image."""

        def _repr_png_(self) -> bytes:
            file = io.BytesIO()
            self.savefig(file, format="png", dpi=100)
            return file.getvalue()

    return ShownFigure
