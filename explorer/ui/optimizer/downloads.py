"""The menu Download: what is on the page as one HTML file, and the run as a script."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from explorer.program import ProgramRefused
from explorer.training import ProgramProblem, RunSetting
from explorer.ui.optimizer import charts
from explorer.ui.optimizer.numbers import drawn_element
from explorer.ui.optimizer.surface import Run, drawn_runs, surface_plot
from explorer.ui.optimizer.workspace import Workspace
from explorer.ui.widgets.basics import download_entry
from explorer.ui.widgets.download_menu import download_menu
from explorer.view.document.training import ShownRun, training_document
from explorer.view.plot import Blank, Plot

#: Heights in CSS pixels.
_SURFACE, _FIT, _CURVE = 420, 330, 220


def draw_downloads(workspace: Workspace) -> None:
    """Draw the menu. It is outside of what a press draws again: its files are of the moment in
    which they are asked for."""
    place = download_menu(partial(page_html, workspace), "optimizer", "The run as a script")
    if place is not None:
        with place:
            download_entry(
                "PyTorch script",
                partial(_script, workspace),
                "steps.py",
                "text/x-python",
                "Needs only PyTorch and ends with the same numbers",
            )


def _script(workspace: Workspace) -> bytes:
    try:
        return workspace.script().encode()
    except ProgramRefused as refused:
        return f"# {refused.error.message}\n".encode()


def page_html(workspace: Workspace) -> str:
    """What the page shows of the runs, as a document."""
    ours, *others = drawn_runs(workspace)
    runs = [ours, *(replace(run, name=f"run {number}") for number, run in enumerate(others, 2))]
    problem = workspace.chosen.problem
    texts = (
        {"Setup": problem.setup, "Loss": problem.loss}
        if isinstance(problem, ProgramProblem)
        else {"Network and loss": problem.source}
    )
    plots: dict[str, Plot | Blank | None] = {
        "surface": surface_plot(workspace, runs, charts.KINDS),
        "loss": charts.loss_plot(runs),
        **charts.other_plots(runs),
        "fit": charts.fit_plot(workspace),
    }
    heights = {"surface": _SURFACE, "fit": _FIT}
    at = drawn_element(workspace)
    return training_document(
        workspace.chosen.offer.title,
        workspace.chosen.note,
        texts,
        [_shown(run) for run in runs],
        {name: (plot, heights.get(name, _CURVE)) for name, plot in plots.items() if plot},
        at=(at.name, at.place),
        error=workspace.event.error if workspace.event else None,
    )


def _shown(run: Run) -> ShownRun:
    settings = run.view.settings
    texts = [str(RunSetting(run.view.optimizer, settings.chosen, run.zero_grad))]
    texts += [text for text in (settings.scheduler, run.view.clip.name) if text]
    for group in settings.groups:
        own = RunSetting(run.view.optimizer, group.hyper)
        texts.append(f"{', '.join(group.parameters)}: {own}")
    return ShownRun(run.name, "; ".join(texts), run.view, run.points)
