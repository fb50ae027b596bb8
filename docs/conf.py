"""The site: `make docs`. Warnings are errors there; nothing is fetched."""

import datetime
import html
import logging
import os
import re
import tempfile
import textwrap
from pathlib import Path

from docutils import nodes

import latesum

HERE = Path(__file__).parent

project = "latesum"
author = "The latesum maintainers"
copyright = f"{datetime.date.today().year}, {author}"
version = release = latesum.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
exclude_patterns = ["_build", "results/*", "tables.py"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}

# Markdown as a code host shows it too: links to headings and to files of the repository.
myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
# Quotation marks and ellipses only: two dashes begin an option of a command.
smartquotes_action = "qe"
myst_links_external_new_tab = True

# Notebooks are run when the site is built: what they show is never older than the code.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
# Kernels run on this machine alone: that they do not encrypt is no warning of the site.
logging.getLogger("traitlets").setLevel(logging.WARNING)
_profile = Path(tempfile.mkdtemp(prefix="latesum-docs-"))
(_profile / "profile_default").mkdir()
(_profile / "profile_default" / "ipython_kernel_config.py").write_text(
    "get_config().IPKernelApp.log_level = 'ERROR'\n"
)
os.environ["IPYTHONDIR"] = str(_profile)

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_preserve_defaults = True
# By the name that code has, not by all that it stands for.
autodoc_type_aliases = {"ArrayLike": "ArrayLike"}
autodoc_class_signature = "mixed"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
# A word in single backticks is code, as in the docstrings.
default_role = "code"


def _in_color(color: str) -> dict[str, str]:
    """The theme's variables for links, boxes and folded code."""
    names = ("brand-primary", "brand-content", "admonition-title")
    return {f"color-{name}": color for name in names} | {
        "color-admonition-title-background": f"{color}1a"
    }


html_theme = "furo"
html_title = f"latesum {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "light_css_variables": _in_color("#005a8c"),
    "dark_css_variables": _in_color("#56b4e9"),
}
html_copy_source = False
html_show_sourcelink = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def _command_line() -> None:
    """The page of all commands, from the commands themselves."""
    import typer
    from typer.cli import get_docs_for_click
    from typer.main import get_command

    from latesum.cli.app import COMMANDS, app, load

    whole = get_command(app)
    for name in COMMANDS:
        whole.commands[name] = load(name)
        whole.commands[name].name = name
    text = get_docs_for_click(obj=whole, ctx=typer.Context(whole), name="latesum")
    text = text.replace("# `latesum`", "# The command line", 1)
    # Whole sentences in the lists of commands: of all, and of each that has some of its own.
    parts = re.split(r"(?m)^(?=## `)", text)
    groups = [whole, *whole.commands.values()]
    for number, group in enumerate(groups):
        for name, command in getattr(group, "commands", {}).items():
            said = command.help if group is not whole else COMMANDS[name]
            said = re.sub(r"\s+", " ", said.partition(". ")[0].partition("\n\n")[0]).rstrip(".")
            line = f"* `{name}`: {said}{'' if said.endswith('?') else '.'}"
            parts[number] = re.sub(
                rf"(?m)^\* `{name}`: .*$", lambda _, line=line: line, parts[number]
            )
    text = "".join(parts)
    # Examples are code, with the quotation marks of a shell.
    text = re.sub(r"(?m)^(Examples?: )?(latesum .*(?:\n.+)*)", r"\1`\2`", text)
    # Where Python or the shell found something: not the same on every machine.
    text = re.sub(r"\s*\[env var: [^\]]*\]", "", text)
    (HERE / "reference" / "command-line.md").write_text(text, encoding="utf-8")


#: What any route may answer, and what success is.
_COMMON = {"200", "201", "204", "400", "401", "403", "408", "413", "422", "429", "503"}


def _http_routes() -> None:
    """The list of all routes, from the service's own description."""
    from latesum.campaigns import Store
    from latesum.service.app import create_app

    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "empty.db")
        paths = create_app(store).openapi()["paths"]
        store.close()
    groups: dict[str, list[str]] = {}
    for path, methods in paths.items():
        for method, route in methods.items():
            lines = groups.setdefault(route["tags"][0], [])
            parts = [re.sub(r"\s+", " ", route["description"]).strip()]
            names = [each["name"] for each in route.get("parameters", []) if each["in"] != "path"]
            if names:
                parts.append("Parameters: " + ", ".join(f"`{name}`" for name in names) + ".")
            if special := sorted(set(route["responses"]) - _COMMON):
                parts.append(f"Also answers {', '.join(special)}.")
            lines.append(f"`{method.upper()} {path}`\n: {' '.join(parts)}\n")
    text = [line for tag, lines in groups.items() for line in (f"## {tag.capitalize()}\n", *lines)]
    (HERE / "reference" / "http-routes.inc").write_text("\n".join(text), encoding="utf-8")


_WITHOUT_SECTIONS = ("attribute", "data", "property")
_texts: dict[str, list[str]] = {}


def _plain(app, what, name, obj, options, lines):
    """Docstrings are plain text: only backticks, lists, `Args:` and examples mean something."""
    inside = False
    for number, line in enumerate(lines):
        if line.lstrip().startswith(">>>"):
            inside = True
        elif not line.strip():
            inside = False
        if not inside:
            parts = re.split(r"(`[^`]*`)", line)
            parts[::2] = [re.sub(r"(?<!^)([*|])", r"\\\1", part) for part in parts[::2]]
            lines[number] = "".join(parts)


def _kept(app, what, name, obj, options, lines):
    """Before docstrings are read for sections: the text of what has none."""
    if what in _WITHOUT_SECTIONS:
        _texts[name] = list(lines)


def _put_back(app, what, name, obj, options, lines):
    """And after: what stands before a colon there is a part of the sentence and no type."""
    if what in _WITHOUT_SECTIONS:
        lines[:] = [*_texts.pop(name), ""]


def _skipped(app, what, name, obj, skip, options):
    """The fields of named tuples stand in their lists of parameters."""
    return True if type(obj).__name__ == "_tuplegetter" else None


#: What is no text: headers, code in blocks and between backticks, the targets of links.
_CODE = re.compile(
    r"(\A---.*?^---$|^```.*?^```$|^    .*?$|`[^`]*`|\]\([^)]*\))", re.DOTALL | re.MULTILINE
)


#: An indented block with signs of mathematics is a formula and no code.
_FORMULA = re.compile(r"(?m)(?<=\n\n)(?:    .*\n)+(?=\n)")


def _with_indices(text: str) -> str:
    """Set a_b and a^b with indices and powers."""
    for mark, tag in (("_", "sub"), (r"\^", "sup")):
        pattern = rf"(?<=[\w\u0302'*>]){mark}(?:\{{([^{{}}]*)\}}|([^\W²]+))"
        for _ in range(2):  # an index may have an index
            text = re.sub(pattern, lambda found, t=tag: f"<{t}>{found[1] or found[2]}</{t}>", text)
    return text


def _as_formula(block: re.Match[str]) -> str:
    if not re.search("[Σμθ≥≤−]", block[0]):
        return block[0]
    text = html.escape(textwrap.dedent(block[0]).rstrip(), quote=False)
    return f'<pre class="formula">{_with_indices(text)}</pre>\n'


def _formulas(app, docname, source):
    """Formulas of research pages, in the text and in blocks of their own."""
    if not docname.startswith("research/"):
        return
    parts = _CODE.split(_FORMULA.sub(_as_formula, source[0]))
    parts[::2] = map(_with_indices, parts[::2])
    source[0] = "".join(parts)


def _unbroken(app, doctree, docname):
    """A short name in code is not broken at its hyphens."""
    for node in doctree.findall(nodes.literal):
        if len(node.astext()) <= 30 and " " not in node.astext():
            node["classes"].append("unbroken")


def setup(app):
    """Called by Sphinx."""
    app.connect("source-read", _formulas)
    app.connect("doctree-resolved", _unbroken)
    _command_line()
    _http_routes()
    app.connect("autodoc-skip-member", _skipped)
    app.connect("autodoc-process-docstring", _plain, priority=100)
    app.connect("autodoc-process-docstring", _kept, priority=200)
    app.connect("autodoc-process-docstring", _put_back, priority=900)
