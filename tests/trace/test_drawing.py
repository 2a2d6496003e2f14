"""Figures drawn from their record are those that matplotlib itself draws, pixel by pixel."""

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import explorer
from explorer.trace.drawing import draw_figure

START = """
import numpy as np
import torch
import matplotlib.pyplot as plt
torch.manual_seed(0)
np.random.seed(0)
"""
PROGRAMS = {
    "lines": """
x = torch.linspace(0, 6, 80)
line, = plt.plot(x, torch.sin(x), "r--", label=r"$\\sin x$")
plt.plot(x.numpy(), np.cos(x.numpy()), color="tab:green", lw=3, marker="o", markevery=8)
plt.plot([3, 1, 2], [0.1, 0.2, 0.3], "k^:", [1, 2], [0, 1], "b-")
line.set_linewidth(4)
plt.xlabel("x"), plt.ylabel("y"), plt.title("Two curves")
plt.xlim(0, 5.5)
plt.grid(True, alpha=0.3)
plt.legend(loc="lower left")
""",
    "columns": """
y = np.random.rand(20, 3)
for line, name in zip(plt.plot(y), "abc"):
    line.set_label(name)
plt.legend()
plt.yscale("log")
plt.axhline(0.5, color="gray", linestyle=":")
plt.axvline(x=3)
plt.axvspan(5, 7, alpha=0.2)
""",
    "panels": """
fig, axes = plt.subplots(2, 2, figsize=(8, 6), sharex=True)
for i, ax in enumerate(axes.flatten()):
    ax.plot(np.arange(5) ** i)
    ax.set_title(f"power {i}", fontsize=9)
axes[0, 1].set_ylabel("second")
axes[1][0].set_xticks([0, 2, 4])
axes[1, 1].spines[["top", "right"]].set_visible(False)
axes[0, 0].tick_params(axis="y", labelsize=6)
fig.suptitle("All powers")
plt.tight_layout()
""",
    "subplot": """
plt.figure(figsize=(9, 3))
for i in range(3):
    plt.subplot(1, 3, i + 1)
    plt.imshow(torch.rand(28, 28), cmap="gray")
    plt.title(i)
    plt.axis("off")
plt.subplot(131)
plt.plot([0, 20], [3, 9])
""",
    "images": """
fig, (a, b) = plt.subplots(1, 2)
im = a.imshow(np.random.randn(6, 9), cmap=plt.cm.RdBu_r, vmin=-2, vmax=2)
fig.colorbar(im, ax=a, shrink=0.7, label="value")
b.imshow(torch.rand(3, 16, 20).permute(1, 2, 0), interpolation="nearest", origin="lower")
b.get_xaxis().set_visible(False)
b.set_yticklabels([])
""",
    "scatter": """
X = torch.randn(200, 2)
y = (X[:, 0] * X[:, 1] > 0).long()
points = plt.scatter(X[:, 0], X[:, 1], c=y, s=40, cmap=plt.cm.Spectral, edgecolors="k")
plt.scatter([0], [0], marker="*", s=200, color="gold", zorder=5)
plt.colorbar(points)
plt.axis("equal")
""",
    "counts": """
n, bins, patches = plt.hist(torch.randn(1000).numpy(), bins=30, density=True, alpha=0.7)
plt.hist([np.random.randn(50), np.random.randn(50) + 2], bins=10, label=["a", "b"],
         histtype="step")
plt.plot(bins, np.exp(-bins ** 2 / 2) / np.sqrt(2 * np.pi))
plt.text(0, n.max(), f"most {n.max():.2f}", ha="center")
plt.legend()
""",
    "bars": """
fig, ax = plt.subplots()
bars = ax.bar(["sgd", "adam", "lion"], [3, 5, 4], color=["C0", "C1", "C2"], yerr=[0.2, 0.1, 0.4])
for bar in bars:
    ax.text(bar.get_x() + bar.get_width() / 2, bar.get_height(), f"{bar.get_height()}")
bars[0].set_color("purple")
ax.bar_label(bars, padding=3)
ax.set_xticks(range(3), ["SGD", "Adam", "Lion"], rotation=30)
ax.set_ylim(top=7)
""",
    "contours": """
x = np.linspace(-2, 2, 40)
X, Y = np.meshgrid(x, x)
Z = X ** 2 + 3 * Y ** 2
filled = plt.contourf(X, Y, Z, levels=15, cmap="viridis", alpha=0.8)
lines = plt.contour(X, Y, Z, 5, colors="white", linewidths=0.5)
plt.clabel(lines)
plt.colorbar(filled)
plt.quiver(X[::8, ::8], Y[::8, ::8], -X[::8, ::8], -3 * Y[::8, ::8])
plt.annotate("minimum", xy=(0, 0), xytext=(1, 1), arrowprops=dict(arrowstyle="->"))
""",
    "areas": """
x = np.arange(30)
y = np.random.rand(30).cumsum()
plt.fill_between(x, y - 1, y + 1, color="b", alpha=0.2, label="deviation")
plt.errorbar(x, y, yerr=0.5, fmt="o-", capsize=3)
plt.step(x, y / 2, where="mid")
plt.stem(x[:5], y[:5])
plt.hlines([2, 4], 0, 30, linestyles="dashed")
plt.legend()
""",
    "statistics": """
fig, axes = plt.subplots(1, 3, figsize=(10, 3))
data = [np.random.randn(50), np.random.randn(50) * 2, np.random.randn(50) + 1]
axes[0].boxplot(data, showfliers=False)
axes[1].violinplot(data, showmedians=True)
axes[2].pie([3, 2, 1], labels=["a", "b", "c"], autopct="%1.0f%%", startangle=90)
""",
    "twins": """
fig, ax = plt.subplots()
ax.plot([1, 2, 3], color="tab:red")
ax.tick_params(axis="y", labelcolor="tab:red")
other = ax.twinx()
other.semilogy([1, 10, 100], color="tab:blue")
other.set_ylabel("log")
ax.text(0.05, 0.9, "corner", transform=ax.transAxes, bbox=dict(boxstyle="round", fc="w"))
ax.invert_xaxis()
""",
    "grids": """
fig = plt.figure(figsize=(7, 5))
gs = fig.add_gridspec(2, 3, width_ratios=[1, 2, 1])
top = fig.add_subplot(gs[0, :])
top.plot([1, 3, 2])
low = fig.add_subplot(gs[1, 1:])
low.matshow(np.arange(6).reshape(2, 3))
small = fig.add_axes([0.1, 0.1, 0.15, 0.2])
small.pcolormesh(np.random.rand(4, 4))
plt.subplots_adjust(hspace=0.5)
""",
    "three_dimensions": """
ax = plt.figure().add_subplot(projection="3d")
x, y = np.meshgrid(np.linspace(-1, 1, 15), np.linspace(-1, 1, 15))
ax.plot_surface(x, y, x ** 2 - y ** 2, cmap="coolwarm")
ax.scatter([0], [0], [0], s=50, c="k")
ax.set_zlabel("loss")
ax.view_init(40, 30)
""",
    "settings": """
plt.style.use("ggplot")
plt.rcParams["figure.figsize"] = (5, 3)
plt.rcParams.update({"font.size": 8, "lines.linewidth": 3})
colors = plt.cm.rainbow(np.linspace(0, 1, 4))
for i, c in enumerate(colors):
    plt.plot([0, 1], [i, 2 * i], color=c, label=str(i))
plt.legend(ncol=2, fontsize="small", title="run")
plt.xticks([0, 1], ["start", "end"], rotation=45)
""",
    "cleared": """
fig, ax = plt.subplots()
for epoch in range(3):
    ax.cla()
    ax.plot(np.arange(epoch + 2))
    ax.set(xlabel="epoch", ylim=(0, 5), title=f"{epoch}")
""",
}

#: Runs each program with matplotlib itself and stores its last figure in the folder. One process
#: for all: importing the libraries takes longer than drawing.
PLAIN = """
import json, sys, matplotlib
matplotlib.use("Agg")
for name, source in json.load(sys.stdin).items():
    with matplotlib.rc_context():
        names = {}
        exec(source, names)
        plt = names["plt"]
        plt.gcf().savefig(f"{sys.argv[1]}/{name}.png", dpi=100, bbox_inches="tight")
        plt.close("all")
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the pictures that matplotlib itself draws."""
    folder = tmp_path_factory.mktemp("plain")
    sources = json.dumps({name: START + program for name, program in PROGRAMS.items()})
    subprocess.run([sys.executable, "-c", PLAIN, folder], input=sources, text=True, check=True)
    return folder


def pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), dtype=int)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_figure_is_drawn_as_matplotlib_draws_it(name: str, plain: Path) -> None:
    trace = explorer.run(START + PROGRAMS[name])
    assert trace.error is None
    assert trace.readings == ()
    (figure,) = trace.figures
    drawn = draw_figure(figure, "light", dpi=100)
    assert drawn.problems == ()
    ours, theirs = pixels(drawn.png), pixels((plain / f"{name}.png").read_bytes())
    assert ours.shape == theirs.shape
    assert np.abs(ours - theirs).max() <= 2
    assert len(np.unique(ours)) > 10
