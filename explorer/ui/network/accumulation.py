"""Several samples without zero_grad: each sample's own gradient beside the accumulated one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from html import escape

import streamlit as st

from explorer.networks import Accumulated
from explorer.trace.text import number
from explorer.ui.common.glossary import html, term_link
from explorer.ui.common.layout import columns
from explorer.ui.common.widgets import download, label, note, scrolling, whole
from explorer.ui.network import figures, norms, runs
from explorer.ui.network.choose import known
from explorer.ui.network.job_progress import result
from explorer.ui.network.job_queue import Job
from explorer.ui.network.runs import Gathered, Histograms
from explorer.ui.network.settings import Setting

_STOPPED = "accumulation-stopped"
_NEVER = 0
#: Columns of norms read before a step.
_READ = 6


def section(setting: Setting) -> None:
    """The controls, and what has been found."""
    samples = known(setting.name).samples
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        n = _number(
            "Samples",
            f"n-{setting.name}",
            samples,
            min(samples, 40),
            "How many go through the network, one after the other",
        )
        every = _every(samples)
        lr = st.number_input(
            "Learning rate",
            0.0,
            10.0,
            1e-3,
            format="%g",
            key="rate",
            bind="query-params",
            width=130,
            help="The factor before the accumulated gradient when the optimizer steps (SGD)",
        )
        st.html(
            '<div class="ax-note">Samples pass one at a time and no one calls zero_grad, so '
            ".grad grows by each sample's own gradient until the optimizer steps.</div>",
            width="stretch",
        )
    key = f"gathering {setting.key} {n} {every} {lr}"
    found = _found(setting, key, n, every, float(lr or 0.0))
    if found is not None and found.steps:
        _show(found)


def _found(setting: Setting, key: str, n: int, every: int, lr: float) -> Gathered | None:
    of, parts = st.session_state.get(_STOPPED, ("", ()))
    if of == key:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.button(
                "Run again",
                on_click=st.session_state.pop,
                args=(_STOPPED,),
                help="Starts over with the first sample",
            )
            note(f"Stopped after {len(parts)} of {n} samples.")
        return Gathered(parts, {})

    def stop(job: Job) -> None:
        st.session_state[_STOPPED] = (key, tuple(job.parts))

    make = partial(runs.gathering, setting, n, every or None, lr)
    return result("tab", key, make, on_stop=stop)


def _every(samples: int) -> int:
    options = [_NEVER, *(k for k in (1, 2, 5, 10, 20) if k <= samples)]
    start = 10 if 10 in options else _NEVER
    chosen = st.selectbox(
        "Step after",
        options,
        options.index(start),
        format_func=lambda k: "never" if k == _NEVER else f"every {k}",
        key=f"every-{samples}",
        bind="query-params",
        width=130,
        help="After how many samples the optimizer steps and clears the gradients",
    )
    return chosen if chosen in options else start


def _number(words: str, key: str, most: int, start: int, help: str) -> int:
    chosen = whole(words, key, 1, most, start=start, width=130, help=help)
    return start if chosen is None else chosen


def _show(found: Gathered) -> None:
    steps = found.steps
    left, right = columns(0.55, 0.45)
    with left:
        name = norms.parameter_choice(list(steps[0].norms))
        at = _slider(len(steps))
        png = figures.sample_norms(
            [step.own.get(name, 0.0) for step in steps],
            [step.norms.get(name, 0.0) for step in steps],
            [step.sample for step in steps if step.stepped],
            at,
        )
        st.image(png, alt=f"Norms of the gradient of {name}, sample by sample", width="stretch")
        download(lambda: png, "accumulation.png", "The figure as PNG", key="accumulation")
    with right:
        step = steps[at - 1]
        loss = term_link("loss", "loss")
        label(f"After sample {at}: ", loss, f" {number(step.loss)}, {step.since} in .grad")
        st.html(_now(step) + _reads(steps))
    if found.histograms:
        _last(found.histograms, name, steps[-1].since)


def _slider(most: int) -> int:
    if most == 1:
        return 1
    if st.session_state.get("sample", most) > most:
        st.session_state["sample"] = most
    at = st.slider(
        "Sample",
        1,
        most,
        most,
        key="sample",
        bind="query-params",
        help="After which sample the table is read; its bar is marked",
    )
    return min(max(at, 1), most)


def _now(step: Accumulated) -> str:
    return _table(
        ["Parameter", "this sample's own", term_link("accumulation", "accumulated")],
        {name: [step.own.get(name), norm] for name, norm in step.norms.items()},
    )


def _reads(steps: Sequence[Accumulated]) -> str:
    """The norms as they are read before each step, and at the end."""
    reads = [s for s in steps if s.stepped or s is steps[-1]][-_READ:]
    if len(reads) < 2:
        return ""
    return _table(
        ["Accumulated after", *(str(read.sample) for read in reads)],
        {name: [read.norms.get(name) for read in reads] for name in reads[0].norms},
    )


def _table(head: Sequence[str], rows: Mapping[str, Sequence[float | None]]) -> str:
    top = "".join(f"<th>{html(heading)}</th>" for heading in head)
    body = "".join(
        f"<tr><th>{escape(name)}</th>{''.join(f'<td>{_six(v)}</td>' for v in values)}</tr>"
        for name, values in rows.items()
    )
    table = f'<table class="ax-plain ax-figures"><tr>{top}</tr>{body}</table>'
    return scrolling(table, f"Norms of the gradients: {', '.join(head[1:])}", "ax-half")


def _six(value: float | None) -> str:
    return "None" if value is None else f"{value:.6f}" if 1e-3 < value < 1e3 else f"{value:.4g}"


def _last(found: Histograms, name: str, since: int) -> None:
    left, right = columns(0.55, 0.45)
    with left:
        label(f"The last {name}.grad, accumulated over {since} samples")
        norms.histogram(found, name, runs.BINS[0], key="accumulated-histogram")
    with right:
        norms.counts(found, name, runs.BINS[0])
