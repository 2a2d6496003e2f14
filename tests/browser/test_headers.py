"""The pages under the headers that the proxies add: they work, and an injected script does not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests import proxy_headers
from tests.browser.test_feature_maps import PHOTOGRAPH

pytestmark = pytest.mark.browser

#: A page's own address, not that of a file it loads.
PAGE = re.compile(r"^http://127\.0\.0\.1:\d+/\w*(\?.*)?$")
RECORD = """
window.violations = []
document.addEventListener("securitypolicyviolation", (event) => {
  window.violations.push(`${event.effectiveDirective} ${event.blockedURI}`)
})
"""
GRAPH, CHART = ".canvas svg g.node", "figure svg circle"
#: What must be visible on each page: components, graphs, charts, tables, formulas and images.
PAGES = {
    "": (GRAPH, "[role=group] input[type=range]"),
    "expression": (GRAPH, "tr[data-id]", "textarea"),
    "optimizer?problem=2-D+classification&presses=zfb": (
        CHART,
        "figure svg image",
        ".st-key-desk .katex",
    ),
    "network": (GRAPH, "tr[data-id]", "[data-testid=stVegaLiteChart] :is(canvas, svg)"),
    "feature_maps": (".st-key-map img", ".st-key-strip figure img"),
}
#: Things a stranger might get into a page, and the directive that stops each.
ATTACKS = {
    "script-src-elem": "add('script').textContent = 'window.ran = 1'",
    "script-src-attr": "add('img').setAttribute('onerror', 'window.ran = 2')",
    "script-src": "setTimeout('window.ran = 3')",
    "frame-src": "add('iframe').src = 'http://127.0.0.1:9/'",
    "object-src": "add('object').data = 'http://127.0.0.1:9/'",
    "img-src": "add('img').src = 'http://127.0.0.1:9/'",
    "style-src-elem": "Object.assign(add('link'), {rel: 'stylesheet', href: 'http://127.0.0.1:9/'})",
    "connect-src": "fetch('http://127.0.0.1:9/').catch(() => 0)",
    "base-uri": "add('base').href = 'http://127.0.0.1:9/'",
    "form-action": "Object.assign(add('form'), {action: 'http://127.0.0.1:9/'}).submit()",
}


@pytest.fixture(scope="module")
def proxied(chromium: Any) -> Iterator[Any]:
    """A tab in which every page has the proxies' headers and records what they block."""

    def add_headers(route: Any) -> None:
        response = route.fetch()
        headers = {**response.headers, **proxy_headers.nginx()}
        route.fulfill(response=response, headers=headers)

    context = chromium.new_context(permissions=["local-network-access"])
    context.add_init_script(RECORD)
    context.route(PAGE, add_headers)
    page = context.new_page()
    page.set_default_timeout(40_000)
    yield page
    context.close()


def open_page(tab: Any, url: str, path: str) -> None:
    tab.goto(f"{url}/{path}")
    for selector in PAGES[path]:
        tab.wait_for_selector(selector)


def violations(tab: Any) -> list[str]:
    found: list[str] = tab.evaluate("window.violations")
    return found


@pytest.mark.thorough
def test_the_headers_block_nothing_that_the_pages_need(proxied: Any, app: str) -> None:
    for path in PAGES:
        open_page(proxied, app, path)
        if path == "expression":
            proxied.locator(GRAPH).nth(2).click()
            proxied.wait_for_selector("g.node.selected")
        elif path.startswith("optimizer"):
            with proxied.expect_download():
                proxied.locator("figure button").first.click()
        elif path == "feature_maps":
            proxied.locator(".st-key-picture-file input").set_input_files(PHOTOGRAPH)
            proxied.wait_for_selector(".st-key-way-in [title^='Image, 512 × 600;']")
        assert violations(proxied) == [], path


@pytest.mark.thorough
def test_the_browser_may_lay_out_a_graph(proxied: Any, app: str) -> None:
    """Where `dot` is missing Graphviz runs in the browser, as WebAssembly."""
    open_page(proxied, app, "")
    proxied.evaluate("WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))")


def test_the_headers_stop_what_a_stranger_gets_into_a_page(proxied: Any, app: str) -> None:
    open_page(proxied, app, "")
    proxied.evaluate("window.add = (tag) => document.body.appendChild(document.createElement(tag))")
    for code in ATTACKS.values():
        proxied.evaluate(f"() => {{ {code} }}")
    proxied.wait_for_timeout(500)
    assert {entry.split()[0] for entry in violations(proxied)} == set(ATTACKS)
    assert proxied.evaluate("window.ran") is None
