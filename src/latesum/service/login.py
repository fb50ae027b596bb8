"""The page that asks for a token. It stands in front of the door, so it brings its own style."""

from __future__ import annotations

import base64
import hashlib
from html import escape

from fastapi.responses import HTMLResponse

_STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1d2430; --soft: #566070; --line: #8a94a3;
  --accent: #1f5fae; --on: #fff; --bad: #a3231b; }
@media (prefers-color-scheme: dark) { :root { --paper: #14181f; --ink: #e8ecf2; --soft: #a7b1bf;
  --line: #6b7686; --accent: #7db2f5; --on: #10151c; --bad: #ff9a92; } }
body { background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif;
  margin: 0 auto; max-width: 26rem; padding: 12vh 1.25rem 2rem; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } p { color: var(--soft); margin: .25rem 0 1.25rem; }
p.bad { color: var(--bad); } code { font-size: .95em; }
label { display: block; font-weight: 600; margin-bottom: .25rem; }
input, button { font: inherit; width: 100%; box-sizing: border-box; padding: .6rem .7rem;
  border-radius: 6px; border: 1px solid var(--line); }
input { background: transparent; color: inherit; margin-bottom: .8rem; }
button { background: var(--accent); color: var(--on); border-color: var(--accent); cursor: pointer;
  font-weight: 600; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
"""
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; img-src data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)


def login_page(status: int, problem: str = "") -> HTMLResponse:
    """The form, with what was wrong."""
    told = f'<p class="bad" role="alert">{escape(problem)}</p>' if problem else ""
    page = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>latesum: log in</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"><style>{_STYLE}</style></head>
<body><main><h1>latesum</h1>
<p>Campaigns decided from totals that arrive late.</p>{told}
<form method="post" action="/login">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button>Log in</button></form>
<p>It was printed when the service first started; <code>latesum token new</code> makes another.</p>
</main></body></html>"""
    headers = {"content-security-policy": _POLICY, "cache-control": "no-store"}
    return HTMLResponse(page, status, headers)
