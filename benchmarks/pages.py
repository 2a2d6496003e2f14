"""Opening, choosing, pasting and uploading, in Chromium

Time from the reader's press to the changed picture, at 1280 × 800. Each page has a server of its
own. That of the Network page is warm: it has shown another network before, but not densenet201; and
each opening by a link asks for a different run (mode, NaN), so that no result comes from a cache. A
reader's own network: modules as people write them are pasted one after the other into the editor,
until the graph has the names of the network's first layers; no program has run before. Each upload
to Feature maps is a photograph that the server has not seen, shown to the small network that comes
with the app.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from matplotlib import get_data_path
from PIL import Image

from benchmarks.browser import Reader, open_reader
from benchmarks.measure import Budget, Row
from explorer.networks import fold, from_program, inspect
from explorer.trace.examples import EXAMPLES
from tests.networks.own_modules import MODULES

_RESULT = "tr[data-id], .ax-error"
_LARGE = "densenet201"
_LINKS = (
    f"network?preset={_LARGE}&nan=true",
    f"network?preset={_LARGE}&mode-{_LARGE}=train+mode",
    f"network?preset={_LARGE}&mode-{_LARGE}=train+mode&nan=true",
)
_BLOCK = "svg g.node:has-text('denseblock4')"
_NODES = "deep('svg g.node').map((e) => e.textContent).join()"
_PASTE = """text => window.dispatchEvent(
  new CustomEvent('ax-replace', { detail: { text, run: true } }))"""
_STRIP = ".st-key-strip figure img"
_FIRST_PICTURE = "deep('figure img', document.querySelector('.st-key-strip'))[0]?.src"
#: Seconds.
_ONE, _TWO = Budget(1, "absolute"), Budget(2, "absolute")


def rows(most: int) -> Iterator[Row]:
    for measure in (expression, network, own_network, feature_maps):
        with open_reader() as reader:
            yield from measure(reader, most)


def expression(reader: Reader, most: int) -> Iterator[Row]:
    reader.open_page("expression", _RESULT)
    cold = time.perf_counter() - reader.started
    yield Row("cold start: from the command to the first picture", cold)
    again = median(reader.open_page("expression", _RESULT) for _ in range(min(7, most)))
    yield Row("Expression opened again by its link", again)
    tab, times = reader.tab, {}
    for example in EXAMPLES[1 : 20 * most + 1]:
        tab.fill("textarea", example.source)
        start = time.perf_counter()
        tab.keyboard.press("Control+Enter")
        tab.locator(".ax-answer > b").filter(has_text=example.question).wait_for()
        tab.wait_for_selector(_RESULT)
        times[example.key] = time.perf_counter() - start
    yield Row(f"one of {len(times)} examples, chosen and run (median)", median(times.values()))
    slowest = max(times, key=lambda key: times[key])
    note = f"The example `{slowest}`."
    yield Row("the slowest example", times[slowest], budget=_ONE, note=note)


def network(reader: Reader, most: int) -> Iterator[Row]:
    reader.open_page("network?preset=resnet18", "svg g.node")
    _wait_until_computed(reader)
    tab = reader.tab
    tab.click(".st-key-preset input")
    tab.fill(".st-key-preset input", _LARGE)
    option = tab.get_by_role("option", name=_LARGE, exact=True)
    option.wait_for()
    start = time.perf_counter()
    option.click()
    tab.wait_for_selector(_BLOCK)
    what, taken = "chosen from the list, until its graph is shown", time.perf_counter() - start
    yield Row(f"{_LARGE} {what}", taken, budget=_TWO)
    _wait_until_computed(reader)
    times = []
    for link in _LINKS[:most]:
        times.append(reader.open_page(link, _BLOCK))
        _wait_until_computed(reader)
    what = "opened by its link, until its graph is shown"
    yield Row(f"{_LARGE} {what}", median(times), budget=_TWO)


def _wait_until_computed(reader: Reader) -> None:
    """Wait for the numbers too: they are computed after the graph is shown."""
    reader.tab.wait_for_selector("[data-testid=stProgress]", state="detached")
    reader.wait_idle(1000)


def own_network(reader: Reader, most: int) -> Iterator[Row]:
    reader.open_page("network?preset=Your+own", "svg g.node")
    times = [_time_paste(reader, module.source) for module in list(MODULES.values())[:most]]
    what = f"from one of {len(times)} pasted programs to the report of its network (median)"
    yield Row(what, median(times), budget=_TWO)
    yield Row("the slowest of them", max(times), budget=_TWO)


def _time_paste(reader: Reader, source: str) -> float:
    """Seconds until the graph shows the layers of this program's network, and not those before."""
    tab = reader.tab
    reader.wait_idle(1000)
    before = tab.evaluate(_NODES)
    start = time.perf_counter()
    tab.evaluate(_PASTE, source)
    tab.wait_for_function(
        f"([before, names]) => {{ const now = {_NODES}; "
        "return now !== before && names.every((name) => now.includes(name)) }",
        arg=[before, _layers_of(source)],
    )
    return time.perf_counter() - start


def _layers_of(source: str) -> list[str]:
    """The first parts of the names of the modules in the graph of the network."""
    own = from_program(source)
    report = inspect(own.model, *own.inputs, loss=own.network.criterion)
    assert report.structure is not None
    nodes = fold(report.structure).nodes
    return [node.name.split(".")[0] for node in nodes if node.kind == "module"]


def feature_maps(reader: Reader, most: int) -> Iterator[Row]:
    photograph = Image.open(Path(get_data_path(), "sample_data", "grace_hopper.jpg"))
    reader.open_page("feature_maps", _STRIP)
    reader.wait_idle(1000)
    times = [_time_upload(reader, photograph, cut) for cut in range(1, min(5, most) + 2)]
    what = "upload of a photograph, until the filmstrip has changed"
    note = f"The first, which starts the decoder, took {times[0]:.2f} s."
    yield Row(what, median(times[1:]), budget=_ONE, note=note)


def _time_upload(reader: Reader, photograph: Image.Image, cut: int) -> float:
    """Seconds until the filmstrip shows the photograph, with some rows cut off to make it new."""
    width, height = photograph.width, photograph.height - cut
    file = io.BytesIO()
    photograph.crop((0, 0, width, height)).save(file, "JPEG", quality=90)
    upload = {"name": f"{cut}.jpg", "mimeType": "image/jpeg", "buffer": file.getvalue()}
    tab = reader.tab
    before = tab.evaluate(_FIRST_PICTURE)
    start = time.perf_counter()
    tab.locator(".st-key-picture-file input[type=file]").set_input_files(upload)
    tab.wait_for_function(f"(before) => ({_FIRST_PICTURE} ?? before) !== before", arg=before)
    tab.wait_for_selector(f".st-key-way-in [title^='Image, {width} × {height};']")
    taken = time.perf_counter() - start
    reader.wait_idle()
    return taken
