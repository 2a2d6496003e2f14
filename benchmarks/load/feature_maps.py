"""Actions on the Feature maps page."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

from benchmarks.load.reader import NotApplicable, Reader
from benchmarks.load.tab import Tab

_SIDES = (64, 320)
#: Width and height of a photograph.
_PHOTOGRAPH = (1600, 1200)
#: Networks that need no download.
_NETWORKS = ("Filter bank", "Shapes network", "ResNet-18")
_VIEWS = {
    "Channels": lambda tab: tab.has("bidi_component", "tiles"),
    "Kernels": lambda tab: "kernel" in tab.texts().lower(),
    "Statistics": lambda tab: "ax-" in tab.texts(),
}


async def upload_image(reader: Reader) -> None:
    """Upload a new image; the page must show its size and its colours."""
    rng = reader.rng
    width, height = rng.randint(*_SIDES), rng.randint(*_SIDES)
    colour = np.array([rng.randrange(256) for _ in range(3)])
    noise = np.random.default_rng(rng.getrandbits(32)).normal(0, 12, (height, width, 3))
    pixels = np.clip(colour + noise, 0, 255).astype(np.uint8)
    await _upload(reader, Image.fromarray(pixels), "png")


async def upload_photograph(reader: Reader) -> None:
    """Upload a new photograph of two megapixels."""
    rng = np.random.default_rng(reader.rng.getrandbits(32))
    small = Image.fromarray(rng.integers(0, 256, (30, 40, 3), dtype=np.uint8))
    picture = small.resize(_PHOTOGRAPH, Image.Resampling.BICUBIC)
    await _upload(reader, picture, "jpeg")


async def _upload(reader: Reader, picture: Image.Image, format: str) -> None:
    file = io.BytesIO()
    picture.save(file, format)
    colours = np.array(picture).mean(axis=(0, 1))

    def check(tab: Tab) -> str | None:
        shown = tab.data("way-in")["pictures"][0]
        size = f"{picture.width} × {picture.height}"
        if not shown["title"].startswith(f"Image, {size};"):
            return f"the image is {size}; the page says {shown['title']}"
        png = base64.b64decode(shown["src"].partition(",")[2])
        mean = np.array(Image.open(io.BytesIO(png)).convert("RGB")).mean(axis=(0, 1))
        deviation = abs(mean - colours).max()
        return None if deviation < 2 else f"the image's colour is {deviation:.1f} off"

    reader.start_timing()
    await reader.tab.upload(
        "picture-file", f"{reader.rng.getrandbits(32):x}.{format}", file.getvalue()
    )
    await reader.wait_for_answer(check)


async def choose_sample(reader: Reader) -> None:
    """Choose another sample image."""
    offered = list(reader.tab.widget("selectbox", "picture").options)
    now = reader.tab.value("selectbox", "picture")
    name = reader.rng.choice([n for n in offered if n not in (now, "Your image", "Camera")])

    def check(tab: Tab) -> str | None:
        alt = tab.data("way-in")["pictures"][0]["alt"]
        return None if alt.startswith(name) else f"{name} was chosen; the page shows {alt}"

    await reader.tab.set("selectbox", "picture", name)
    await reader.wait_for_answer(check)


async def change_network(reader: Reader) -> None:
    """Change the network."""
    now = reader.tab.value("selectbox", "network")
    name = reader.rng.choice([n for n in _NETWORKS if n != now])

    def check(tab: Tab) -> str | None:
        alt = tab.data("way-in")["pictures"][1]["alt"]
        return None if alt == f"The input of {name}" else f"{name} was chosen; the page shows {alt}"

    await reader.tab.set("selectbox", "network", name)
    await reader.wait_for_answer(check)


async def choose_layer(reader: Reader) -> None:
    """Choose another layer."""
    offered = list(reader.tab.widget("selectbox", "layer").options)
    now = reader.tab.value("selectbox", "layer")
    if len(offered) < 2:
        raise NotApplicable
    name = reader.rng.choice([n for n in offered if n != now])

    def check(tab: Tab) -> str | None:
        chosen = tab.value("selectbox", "layer")
        if not tab.has("bidi_component", "tiles"):
            return None
        alt = tab.data("tiles")["pictures"][0]["alt"]
        fine = chosen == name and alt.endswith(f" of {name}")
        return None if fine else f"{name} was chosen; the page shows {alt}"

    await reader.tab.set("selectbox", "layer", name)
    await reader.wait_for_answer(check)


async def choose_channel(reader: Reader) -> None:
    """Choose another channel."""
    last = round(reader.tab.widget("number_input", "channel").max)
    now = round(reader.tab.value("number_input", "channel"))
    if not last or not reader.tab.has("bidi_component", "map"):
        raise NotApplicable
    target = reader.rng.choice([n for n in range(last + 1) if n != now])

    def check(tab: Tab) -> str | None:
        shown = tab.data("map")["channel"]
        return None if shown == target else f"channel {target} was chosen; the page shows {shown}"

    await reader.tab.set("number_input", "channel", float(target))
    await reader.wait_for_answer(check)


async def switch_tab(reader: Reader) -> None:
    """Switch to another tab."""
    now = reader.tab.value("tab_container", "view")
    name = reader.rng.choice([n for n in _VIEWS if n != now])
    await reader.tab.set("tab_container", "view", name)
    await reader.wait_for_answer(
        lambda tab: None if _VIEWS[name](tab) else f"the tab {name} is empty"
    )
