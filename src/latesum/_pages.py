"""Pages from templates: one Jinja environment for all rooms, in which every value is escaped."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from latesum._extras import require


def render(template: str, **values: Any) -> str:
    """The page that a template makes of these values.

    Args:
        template: The place of its file within latesum, such as "service/templates/list.html".
        values: What the template shows. One that is `markupsafe.Markup` is not escaped; one that the
            template names and that is missing is an error.
    """
    page: str = _environment().get_template(template).render(**values)
    return page


@cache
def _environment() -> Any:
    # Only when a page is made: no other command should wait for it.
    jinja2 = require("jinja2", "experiments")

    return jinja2.Environment(
        loader=jinja2.FunctionLoader(read),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


def read(file: str) -> str:
    """A text file that belongs to latesum, by its place within it."""
    return (resources.files("latesum") / file).read_text(encoding="utf-8")
