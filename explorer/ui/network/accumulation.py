"""Several samples without zero_grad: each sample's own gradient, and the accumulated one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import streamlit as st

from explorer.networks.runs import BINS, AccumulationRun, Histograms
from explorer.networks.training_steps import AccumulationStep
from explorer.trace.colours import BAR, COMPARISON
from explorer.trace.text import number
from explorer.training.formatting import pluralize
from explorer.ui.network import charts, figures
from explorer.ui.network.histograms import choose_parameter, draw_counts, draw_histogram
from explorer.ui.network.runs import await_stoppable
from explorer.ui.network.selection import Shown, pick
from explorer.ui.network.table import figures_table
from explorer.ui.widgets.basics import columns, download, label, whole
from explorer.view.glossary import term_link

_NEVER = 0
#: The colours of the chart.
_LEGEND = " &ensp; ".join(
    f'<i class="ax-swatch" style="background:{colour}"></i>{name}'
    for name, colour in (("this sample's own", BAR), ("accumulated", COMPARISON))
)
#: How many columns of norms before a step are shown.
_MAX_STEPS = 6


def draw_accumulation(shown: Shown) -> None:
    """Draw the controls, and the accumulated gradients."""
    settings, samples = shown.settings, shown.facts.samples
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        most = min(samples, 40)
        n = whole(
            "Samples",
            f"n-{settings.name}",
            1,
            samples,
            start=most,
            width=130,
            help="How many samples go through the network, one after another",
        )
        n = most if n is None else n
        every = _choose_every(samples)
        lr = st.number_input(
            "Learning rate",
            0.0,
            10.0,
            1e-3,
            format="%g",
            key="rate",
            bind="query-params",
            width=130,
            help="When the optimizer (SGD) steps, it multiplies the accumulated gradient by this",
        )
        st.html(
            '<div class="ax-note">The samples pass one at a time, without zero_grad in between. '
            "Each adds its own gradient to .grad, until the optimizer steps.</div>",
            width="stretch",
        )
    accumulation = await_stoppable(
        "accumulate_samples",
        settings,
        again="Run again",
        total=pluralize(n, "sample"),
        so_far=lambda steps: AccumulationRun(steps, {}),
        n=n,
        every=every or None,
        lr=float(lr or 0.0),
    )
    if accumulation is not None and accumulation.steps:
        _draw_steps(accumulation)


def _choose_every(samples: int) -> int:
    options = [_NEVER, *(k for k in (1, 2, 5, 10, 20) if k <= samples)]
    return pick(
        "Step after",
        f"every-{samples}",
        options,
        "After how many samples the optimizer steps and the gradients are cleared",
        start=10 if 10 in options else _NEVER,
        width=130,
        labelled=True,
        format_func=lambda k: "never" if k == _NEVER else f"every {k}",
    )


def _draw_steps(accumulation: AccumulationRun) -> None:
    steps = accumulation.steps
    left, right = columns(0.55, 0.45)
    with left:
        name = choose_parameter(list(steps[0].norms))
        sample = _choose_sample(len(steps))
        norms_of_samples = (
            [step.own_norms.get(name, 0.0) for step in steps],
            [step.norms.get(name, 0.0) for step in steps],
            [step.sample for step in steps if step.stepped],
            sample,
        )
        alt = f"Norms of the gradient of {name}, sample by sample"
        st.html(f'<div class="ax-note">{_LEGEND}</div>')
        charts.draw_sample_norms(*norms_of_samples, alt)
        download(
            lambda: figures.draw_sample_norms(*norms_of_samples),
            "accumulation.png",
            "Downloads the figure as PNG",
            key="accumulation",
        )
    with right:
        step = steps[sample - 1]
        loss = term_link("loss", "loss")
        samples = f"{pluralize(step.in_grad, 'sample')} in .grad"
        label(f"After sample {sample}: ", loss, f" {number(step.loss)}, {samples}")
        st.html(_sample_table(step) + _steps_table(steps))
    if accumulation.histograms:
        _draw_last_gradient(accumulation.histograms, name, steps[-1].in_grad)


def _choose_sample(most: int) -> int:
    if most == 1:
        return 1
    if st.session_state.get("sample", most) > most:
        st.session_state["sample"] = most
    sample = st.slider(
        "Sample",
        1,
        most,
        most,
        key="sample",
        bind="query-params",
        help="The sample that the table shows; its bar is marked",
    )
    return min(max(sample, 1), most)


def _sample_table(step: AccumulationStep) -> str:
    return _table(
        ["Parameter", "this sample's own", term_link("accumulation", "accumulated")],
        {name: [step.own_norms.get(name), norm] for name, norm in step.norms.items()},
    )


def _steps_table(steps: Sequence[AccumulationStep]) -> str:
    """The norms before each step of the optimizer, and at the end."""
    reads = [s for s in steps if s.stepped or s is steps[-1]][-_MAX_STEPS:]
    if len(reads) < 2:
        return ""
    return _table(
        ["Accumulated after", *(str(read.sample) for read in reads)],
        {name: [read.norms.get(name) for read in reads] for name in reads[0].norms},
    )


def _table(head: Sequence[str], rows: Mapping[str, Sequence[float | None]]) -> str:
    body = "".join(
        f"<tr><th>{escape(name)}</th>{''.join(f'<td>{_format_norm(v)}</td>' for v in values)}</tr>"
        for name, values in rows.items()
    )
    return figures_table(head, body, f"Norms of the gradients: {', '.join(head[1:])}", "ax-half")


def _format_norm(value: float | None) -> str:
    return "None" if value is None else f"{value:.6f}" if 1e-3 < value < 1e3 else f"{value:.4g}"


def _draw_last_gradient(histograms: Histograms, name: str, samples: int) -> None:
    left, right = columns(0.55, 0.45)
    with left:
        label(f"The last {name}.grad, accumulated over {samples} samples")
        draw_histogram(histograms, name, BINS[0], key="accumulated-histogram")
    with right:
        draw_counts(histograms, name, BINS[0])
