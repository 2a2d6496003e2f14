"""Curves, histograms and images that a program logs, in place of TensorBoard's SummaryWriter.

Each tag becomes a figure at the end of the run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from explorer.language.figures import Figures, line_now
from explorer.language.notices import notice, running
from explorer.language.vocabulary.plotting.figure import Figure, show_now
from explorer.language.vocabulary.plotting.plain_values import numbers, plain
from explorer.language.vocabulary.plotting.plotted_data import image_of
from explorer.language.vocabulary.stand_in import StandIn

#: Most tags of a writer, most points of one curve, and most writers of a run that are drawn.
_MOST_TAGS, _MOST_POINTS, _MOST_WRITERS = 30, 20_000, 5


class SummaryWriter(StandIn):
    """Keeps what is logged; nothing is written to files."""

    def __init__(self, log_dir: Any = None, *args: Any, **options: Any) -> None:
        self.log_dir = "runs"
        self._line = 0
        self._curves: dict[str, dict[str, list[tuple[float, float]]]] = {}
        self._histograms: dict[str, np.ndarray] = {}
        self._images: dict[str, Any] = {}
        program = running()
        self._figures = program.figures if program is not None else Figures()
        if len(self._figures.finishers) < _MOST_WRITERS:
            self._figures.finishers.append(self._finish)
        notice("Nothing is written for TensorBoard: what is logged is drawn with the output.")

    def add_scalar(self, tag: Any, scalar_value: Any, global_step: Any = None, *a: Any) -> None:
        self._add(tag, "", scalar_value, global_step)

    def add_scalars(self, main_tag: Any, tag_scalar_dict: Any, global_step: Any = None) -> None:
        for name, value in tag_scalar_dict.items() if type(tag_scalar_dict) is dict else ():
            self._add(main_tag, str(plain(name)), value, global_step)

    def _add(self, tag: Any, name: str, value: Any, step: Any) -> None:
        key = self._key(self._curves, tag)
        if key is None:
            return
        curves = self._curves.setdefault(key, {})
        if name not in curves and len(curves) >= _MOST_TAGS:
            return
        points = curves.setdefault(name[:100], [])
        if len(points) < _MOST_POINTS:
            number = numbers(_detached(value))
            at = numbers(len(points) if step is None else step)
            if number.size == 1 and at.size == 1:
                points.append((float(at.ravel()[0]), float(number.ravel()[0])))

    def add_histogram(self, tag: Any, values: Any, *args: Any, **options: Any) -> None:
        key = self._key(self._histograms, tag)
        if key is not None:
            logged = np.ravel(numbers(_detached(values)))[:100_000]
            self._histograms[key] = logged[np.abs(logged) < 1e300]

    def add_image(self, tag: Any, img_tensor: Any, *a: Any, dataformats: Any = "CHW") -> None:
        image = np.asarray(plain(_detached(img_tensor)))
        if image.ndim == 3 and dataformats == "CHW":
            image = image.transpose(1, 2, 0)
        image, _ = image_of(image)
        key = self._key(self._images, tag)
        if image.size and key is not None:
            self._images[key] = image

    def add_images(self, tag: Any, img_tensor: Any, *args: Any, **options: Any) -> None:
        images = numbers(_detached(img_tensor))
        if images.ndim == 4:
            self.add_image(tag, np.concatenate(list(images[:16]), axis=-1))

    def add_figure(self, tag: Any, figure: Any, *args: Any, **options: Any) -> None:
        if isinstance(figure, Figure):
            figure._log.name = str(plain(tag))[:100]
            show_now(figure)

    def add_graph(self, *args: Any, **options: Any) -> None:
        notice("This page draws the graph; nothing else is drawn or written to a file.")

    def add_text(self, *args: Any, **options: Any) -> None:
        """Of no effect."""

    def add_hparams(self, *args: Any, **options: Any) -> None:
        """Of no effect."""

    def add_embedding(self, *args: Any, **options: Any) -> None:
        notice("Of what is logged, embeddings and precision-recall curves are not drawn.")

    def add_pr_curve(self, *args: Any, **options: Any) -> None:
        notice("Of what is logged, embeddings and precision-recall curves are not drawn.")

    def flush(self) -> None:
        """Of no effect."""

    def close(self) -> None:
        """Of no effect: the figures are drawn at the end of the run."""

    def get_logdir(self) -> str:
        return self.log_dir

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        """Of no effect."""

    def _key(self, kept: dict[str, Any], tag: Any) -> str | None:
        """The tag as text; None if there are too many."""
        self._line = line_now()
        name = plain(tag)
        if not isinstance(name, str):
            raise TypeError("A tag is a text")
        tags = len(self._curves) + len(self._histograms) + len(self._images)
        if name[:100] not in kept and tags >= _MOST_TAGS:
            notice(f"Of what is logged, the first {_MOST_TAGS} tags are drawn.")
            return None
        return name[:100]

    def _finish(self, position: int) -> None:
        """Make the figures."""
        for tag, curves in self._curves.items():
            with_panel = self._panel(tag)
            for name, points in curves.items():
                steps, values = zip(*points, strict=True) if points else ((), ())
                with_panel.plot(steps, values, label=name)
            with_panel.set_xlabel("step")
            if list(curves) != [""]:
                with_panel.legend()
            self._show(with_panel, position)
        for tag, logged in self._histograms.items():
            panel = self._panel(tag)
            panel.hist(logged, bins=30)
            self._show(panel, position)
        for tag, image in self._images.items():
            panel = self._panel(tag)
            panel.imshow(image, cmap="gray")
            self._show(panel, position)

    def _panel(self, tag: str) -> Any:
        figure = Figure(self._figures, (5.0, 3.2))
        figure._log.name = tag
        panel = figure.add_subplot(1, 1, 1)
        panel.set_title(tag)
        return panel

    def _show(self, panel: Any, position: int) -> None:
        self._figures.show(panel._log, self._line, position)


def _detached(values: Any) -> Any:
    return values.detach() if isinstance(values, torch.Tensor) else values


_TITLE = "Notebooks"


def make_writer(*args: Any, **options: Any) -> SummaryWriter:
    """A SummaryWriter: its curves, histograms and images become figures."""
    return SummaryWriter()


ADDED: dict[str, tuple[str, Any]] = {
    "torch.utils.tensorboard.SummaryWriter": (_TITLE, make_writer),
    "torch.utils.tensorboard.writer.SummaryWriter": (_TITLE, make_writer),
    "tensorboardX.SummaryWriter": (_TITLE, make_writer),
}
