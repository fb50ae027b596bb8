"""The long description of a release: the README without what leads nowhere outside the repository.

The project has no address that relative links could be joined to. So pictures, and sentences that
only point to a page, are left out, and any other link to a file becomes its words; links with an
address stay.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

#: A target without an address.
_RELATIVE = r"\((?![a-z]+:)[^)]*\)"
_DOCUMENTATION = (
    "The documentation is in the folder `docs` of the source archive; `make docs` builds it there."
)


def long_description(readme: str) -> str:
    """The README as it can stand alone."""
    text = re.sub(r"<!--.*?-->\n*", "", readme, flags=re.DOTALL)
    # A picture, and the paragraph in italics below it.
    picture = rf"!\[[^\]]*\]{_RELATIVE}\n\n(?:\*(?!\*).*?\*\n\n)?"
    text = re.sub(picture, "", text, flags=re.DOTALL)
    # Sentences that are nothing but a link, brackets around one, and the list of pages at the end.
    text = re.sub(rf"(?<=[.)])\s+\[[^\]]*\]{_RELATIVE}\.", "", text)
    text = re.sub(rf"^\[[^\]]*\]{_RELATIVE}\.\n\n", "", text, flags=re.MULTILINE)
    text = re.sub(rf" \(\[[^\]]*\]{_RELATIVE}\)", "", text)
    text = re.sub(r"(## Read on\n\n).*", rf"\1{_DOCUMENTATION}\n", text, flags=re.DOTALL)
    return re.sub(rf"\[([^\]]*)\]{_RELATIVE}", r"\1", text)


class LongDescription(MetadataHookInterface):
    """Called by hatchling."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Put the long description into the metadata."""
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": long_description(readme),
        }
