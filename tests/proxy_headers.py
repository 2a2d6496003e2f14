"""The headers that the proxies' configurations add to every response."""

from __future__ import annotations

import re
from pathlib import Path

DEPLOY = Path(__file__).parents[1] / "deploy"
POLICY = "Content-Security-Policy"


def nginx() -> dict[str, str]:
    """Those of deploy/nginx.conf that errors have too."""
    text = (DEPLOY / "nginx.conf").read_text()
    return dict(re.findall(r'^    add_header (\S+) "([^"]+)" always;$', text, re.MULTILINE))


def caddy() -> dict[str, str]:
    """Those of deploy/Caddyfile."""
    block = re.search(r"^\theader \{\n(.+?)^\t\}", (DEPLOY / "Caddyfile").read_text(), re.M | re.S)
    return dict(re.findall(r'^\t\t(\S+) "([^"]+)"$', block[1], re.MULTILINE)) if block else {}


def haproxy() -> dict[str, str]:
    """Those of deploy/haproxy.cfg."""
    text = (DEPLOY / "haproxy.cfg").read_text()
    return dict(
        re.findall(r'^    http-after-response set-header (\S+) "([^"]+)"$', text, re.MULTILINE)
    )
