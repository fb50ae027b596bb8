"""A page of headings, paragraphs, tables and pictures, as Markdown and as one HTML file."""

from __future__ import annotations

import base64
import html
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
       color: #1a1a1a; background: #fff; }
h1, h2, h3 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-bottom: 1px solid #ddd; }
table { border-collapse: collapse; font-size: 0.85rem; margin: 1rem 0; display: block;
        overflow-x: auto; }
th, td { padding: 0.2rem 0.6rem; text-align: right; border-bottom: 1px solid #e5e5e5;
         font-variant-numeric: tabular-nums; }
td:not(.text) { white-space: nowrap; }
th:first-child, td:first-child, th.text, td.text { text-align: left; }
img { max-width: 100%; height: auto; } figure { margin: 1rem 0; }
figcaption { font-size: 0.85rem; color: #444; }
@media print { body { max-width: none; } h2 { break-before: auto; } figure { break-inside: avoid; } }
"""


@dataclass
class Document:
    """A page that is written down block by block, for Markdown and for HTML at once.

    >>> page = Document("A page")
    >>> page.paragraph("It has *one* paragraph & a `name`.")
    >>> print(page.markdown())
    # A page
    <BLANKLINE>
    It has *one* paragraph & a `name`.
    <BLANKLINE>
    >>> "<p>It has <em>one</em> paragraph &amp; a <code>name</code>.</p>" in page.html()
    True
    """

    title: str
    _markdown: list[str] = field(default_factory=list)
    _html: list[str] = field(default_factory=list)

    def heading(self, text: str, level: int = 2) -> None:
        """Begin a part of the page."""
        self._markdown.append(f"{'#' * level} {text}")
        self._html.append(f"<h{level}>{_inline(text)}</h{level}>")

    def paragraph(self, text: str) -> None:
        """Some sentences; *emphasis* and `names` are marked as in Markdown."""
        self._markdown.append(text)
        self._html.append(f"<p>{_inline(text)}</p>")

    def items(self, texts: list[str]) -> None:
        """A list."""
        self._markdown.append("\n".join(f"- {text}" for text in texts))
        self._html.append("<ul>" + "".join(f"<li>{_inline(text)}</li>" for text in texts) + "</ul>")

    def table(self, columns: list[str], rows: list[list[str]], text: tuple[int, ...] = ()) -> None:
        """A table; its first column and those in `text` hold text, the others numbers."""
        aligned = ["---" if i == 0 or i in text else "---:" for i in range(len(columns))]
        lines = [columns, aligned, *rows]
        self._markdown.append("\n".join("| " + " | ".join(line) + " |" for line in lines))
        kind = ["" if i not in text else ' class="text"' for i in range(len(columns))]

        def row(cells: list[str], tag: str) -> str:
            inside = "".join(
                f"<{tag}{kind[i]}>{_inline(cell)}</{tag}>" for i, cell in enumerate(cells)
            )
            return f"<tr>{inside}</tr>"

        head, body = row(columns, "th"), "".join(row(cells, "td") for cells in rows)
        self._html.append(f"<table><thead>{head}</thead><tbody>{body}</tbody></table>")

    def picture(self, path: Path, caption: str, beside: Path) -> None:
        """A PNG, embedded in the HTML and linked in the Markdown that lies in `beside`."""
        link = Path(os.path.relpath(path, beside)).as_posix()
        self._markdown.append(f"![{caption}]({link})\n\n*{caption}*")
        data = base64.b64encode(path.read_bytes()).decode()
        self._html.append(
            f'<figure><img alt="{html.escape(caption)}" src="data:image/png;base64,{data}">'
            f"<figcaption>{_inline(caption)}</figcaption></figure>"
        )

    def markdown(self) -> str:
        """The page as Markdown."""
        return "\n\n".join([f"# {self.title}", *self._markdown]) + "\n"

    def html(self) -> str:
        """The page as one HTML file that needs nothing else."""
        title = html.escape(self.title)
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<style>{_STYLE}</style></head><body><h1>{title}</h1>\n"
            + "\n".join(self._html)
            + "\n</body></html>\n"
        )


def _inline(text: str) -> str:
    escaped = html.escape(text, quote=False)
    escaped = re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped)
    return re.sub(r"(?<![\w*])\*([^*]+)\*(?![\w*])", r"<em>\1</em>", escaped)
