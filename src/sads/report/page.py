"""The page: a template, one style and one script, all inside.

The content-security policy allows this style and this script by their digests, pictures inside the
file, and nothing else. No request can leave the page, and a script in the name of a file or
network would not run even if it were not escaped.
"""

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

_SCRIPTS = ("pictures.js", "plot.js", "overlay.js", "explorer.js")


def render(view: dict[str, Any], content: dict[str, Any]) -> str:
    """The whole file.

    Args:
        view: what the template shows.
        content: what the script gets.
    """
    style = _asset("report.css")
    script = "\n".join(["'use strict';", *map(_asset, _SCRIPTS)])
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            view,
            policy=f"{_policy(style)}; script-src '{_digest(script)}'",
            style=Markup(style),
            script=Markup(script),
            content=Markup(embedded(content)),
        )
    )


def render_scripted(template: str, scripts: tuple[str, ...], view: dict[str, Any]) -> str:
    """A file whose scripts need no data.

    Args:
        template: the name of the template among the assets.
        scripts: the names of the scripts among the assets, in order.
        view: what the template shows.
    """
    style = _asset("report.css")
    script = "\n".join(["'use strict';", *map(_asset, scripts)])
    policy = f"{_policy(style)}; script-src '{_digest(script)}'"
    page = _environment().get_template(template)
    return page.render(view, policy=policy, style=Markup(style), script=Markup(script))


def render_plain(template: str, view: dict[str, Any]) -> str:
    """A file without a script.

    Args:
        template: the name of the template among the assets.
        view: what it shows.
    """
    style = _asset("report.css")
    page = _environment().get_template(template)
    return page.render(view, policy=_policy(style), style=Markup(style))


def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["command"] = command_line
    return environment


def command_line(line: str) -> Markup:
    """A command whose options are kept on one line: browsers would break them behind a hyphen."""
    words = (escape(word) for word in line.split(" "))
    kept = Markup('<span class="option">{}</span>')
    return Markup(" ").join(kept.format(w) if w.startswith("-") else w for w in words)


def _policy(style: str) -> str:
    return (
        f"default-src 'none'; img-src data:; style-src '{_digest(style)}'; base-uri 'none'; "
        "form-action 'none'"
    )


def embedded(content: dict[str, Any]) -> str:
    """JSON that cannot end the element it stands in, nor a line of a script.

    >>> embedded({"name": "</script>"})
    '{"name":"\\\\u003c/script>"}'
    """
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for character in ("<", "\u2028", "\u2029"):
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _asset(name: str) -> str:
    return files("sads.report").joinpath("assets", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
