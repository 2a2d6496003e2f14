"""A Trace as a document: every recorded backward pass, its walk, and all that the run has shown."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from html import escape
from typing import Any

from explorer import limits
from explorer.trace import BackwardPass, Trace
from explorer.trace.explain.order import arrange, can_be_tried
from explorer.trace.text import as_on_a_terminal, outside_numbers
from explorer.training.formatting import pluralize
from explorer.view import curves, events, graphviz, tensors, walk
from explorer.view.answers import answer_html, error_html, notices_html
from explorer.view.document import page
from explorer.view.drawn_pass import DrawnPass, PassGraph
from explorer.view.entry import entries_html, matrix_inputs
from explorer.view.fix import changed_lines, diff_html
from explorer.view.graph import legend_html
from explorer.view.leaves import leaf_colours, node_colours
from explorer.view.live_numbers import line_ends
from explorer.view.mathml import math_html
from explorer.view.plot import plots_data
from explorer.view.rule_names import named_rule
from explorer.view.step import left_out, progress, rule_html, step_html
from explorer.view.table import TABLE, Row, table_data

#: Heights of the charts of the loss and of a norm, in CSS pixels.
_LOSS, _NORM = 200, 142
#: What a document leaves out, in this order, until it is as small as it has to be.
_BLOCKS, _DETAILS, _FLOWS, _STEPS, _OTHERS = (
    "the insides of other blocks",
    "single tensors in detail",
    "the gradients in and out of each step",
    "the walk",
    "the tensors",
)


def document(trace: Trace, *, title: str = "", budget: int | None = None) -> str:
    """The trace as one HTML file. With a `budget`, it takes no more than so many bytes in a
    `frame`: what does not fit is left to `save`."""
    parts = (_BLOCKS, _DETAILS, _FLOWS, _STEPS, _OTHERS)
    return page.within(budget, _Document(trace, title).html, parts)


def cell(trace: Trace) -> str:
    """The trace as a notebook shows it."""
    last = trace.passes[0] if trace.passes else None
    svg = (graphviz.svg(PassGraph(trace, last).draw().dot) if last else None) or ""
    ended = f" {trace.error.message}" if trace.error else ""
    return page.cell(lambda room: document(trace, budget=room), svg, f"{_title(trace)}.{ended}")


class _Document:
    """All that a document of a trace can hold, each made when it is asked for."""

    def __init__(self, trace: Trace, title: str) -> None:
        self.trace = trace
        self.passes = [_Pass(trace, shown) for shown in trace.passes]
        self.title = title or _title(trace)

    def html(self, left_out: Sequence[str], room: int = 0) -> str:
        """Without what is `left_out`; of the blocks as many as take no more than `room`
        characters."""
        whole = _BLOCKS not in left_out
        later = {}
        for i, one in enumerate(self.passes):
            flows, steps = (what not in left_out for what in (_FLOWS, _STEPS))
            others = [each.svg for each in one.laid_out[1:]]
            drawn = others if whole else [] if i else others[: page.fitting(others, room)]
            later[f"pass-{i}"] = json.dumps(
                one.data(len(drawn), flows=flows, steps=steps, is_first=not i)
            )
            if drawn:
                later[f"layouts-{i}"] = "\n".join(drawn)
        if _DETAILS not in left_out:
            later["details"] = json.dumps(self._details)
        rows = _OTHERS not in left_out
        data = {
            "passes": [one.title for one in self.passes],
            "tables": [self._table] if rows else [],
            "plots": self._plots,
            "source": self._lines,
        }
        body = self._body(left_out)
        return page.Page(self.title, body, data, later, {"drawTable": TABLE}, "program").html()

    # -- the page

    def _body(self, left_out: Sequence[str]) -> str:
        trace = self.trace
        return "".join(
            (
                f"<h1>{escape(self.title)}</h1>",
                page.left_out(left_out),
                self._error(),
                notices_html(trace) if trace.notices else "",
                page.section("Answers", *self._answers(), id="answers"),
                f'<div id="two">{self._graph()}{self._source()}</div>',
                page.section("Tensors", self._tensors(left_out)),
                page.section("Curves", self._curves()),
                page.section("Printed", *_printed(trace)),
                page.section("Events", self._events(), open=len(trace.events) <= _FEW_EVENTS),
            )
        )

    def _error(self) -> str:
        error = self.trace.error
        if error is None:
            return ""
        change = self._change(error.fix)
        return error_html(error, change=change, place=self._place(error.line))

    def _place(self, line: int | None) -> str:
        place = self.trace.place(line) if line else ""
        return place[:1].upper() + place[1:]

    def _answers(self) -> Iterator[str]:
        """Answers with their changes. What can be tried and was not may be false: of the project's
        own runs it is counted only."""
        arranged = arrange(self.trace.answers)
        own = bool(self.trace.files)
        waiting = [a for a in arranged if can_be_tried(a) and not a.tried and not own]
        shown = [answer for answer in arranged if answer not in waiting]
        for i, answer in enumerate(shown):
            yield answer_html(answer, self._change(answer.fix), open=not i)
        if own and any(can_be_tried(a) and not a.tried for a in shown):
            yield page.notes(
                [
                    "None of the changes was tried: your code is not run a second time. "
                    "Of a function with @explorer.record, prove(…) tries them on copies."
                ]
            )
        if waiting:
            count, what = pluralize(len(waiting), "answer"), "them" if waiting[1:] else "it"
            yield page.notes([f"{count} not tried yet: explorer.prove(trace) tries {what}."])

    def _change(self, fix: str | None) -> str:
        if fix is None:
            return ""
        lines = changed_lines(self.trace.source, fix)
        file = self.trace.file_of(lines[0].number) if lines else None
        name = ""
        if file is not None:  # all changes are in one file
            lines = tuple(replace(line, number=line.number - file.first + 1) for line in lines)
            name = f"<p>{escape(file.name)}</p>" if file is not self.trace.files[0] else ""
        return f'<div class="ax-fix">{name}{diff_html(lines)}</div>'

    def _graph(self) -> str:
        if not self.passes:
            sentence = "" if self.trace.error else "backward has not run, so there is no graph."
            return f'<section id="drawn">{page.notes([sentence] if sentence else [])}</section>'
        first = self.passes[0]
        picture = page.picture(first.laid_out)
        return (
            f'<section id="drawn"><div class="row">{self._choice()}{page.SEARCH}'
            f"<span id='legend'>{legend_html(first.drawn.dot)}</span></div>{picture}"
            f"<div class='row' id='foot'></div>{_WALK}"
            '<div id="rule" aria-live="polite"></div><div id="flows"></div></section>'
        )

    def _choice(self) -> str:
        if len(self.passes) < 2:
            return f"<b>{escape(self.passes[0].title)}</b>"
        options = "".join(
            f"<option value='{i}'>{one.shown.number} of {self.trace.pass_count}: "
            f"{escape(one.title)}</option>"
            for i, one in enumerate(self.passes)
        )
        left = self.trace.pass_count - len(self.passes)
        more = f"<span class='ax-note'>{left:,} others are not recorded.</span>" if left else ""
        return f"<select id='pass' aria-label='Backward pass'>{options}</select>{more}"

    def _source(self) -> str:
        trace = self.trace
        files = trace.files or [None]
        lines, ends = trace.source.split("\n"), line_ends(trace, True)
        while len(lines) > 1 and not lines[-1].strip():
            lines.pop()
        named = Counter(line for line, _ in {(t.line, t.name) for t in trace.tensors if t.named})
        ends = {line: end for line, end in ends.items() if named[line] < 2}  # else: of which?
        parts = []
        failed = trace.error.line if trace.error else None
        for file in files:
            start, count = (file.first - 1, file.length) if file else (0, len(lines))
            rows = "".join(
                f"<div class='line{' failed' if start + i + 1 == failed else ''}' "
                f"data-line='{start + i + 1}'><i>{i + 1}</i><code>{escape(text)}</code>"
                f"<span>{escape(ends.get(start + i + 1, ''))}</span></div>"
                for i, text in enumerate(lines[start : start + count])
            )
            name = f"<h3>{escape(file.name)}</h3>" if file else ""
            parts.append(f"{name}<div class='listing'>{rows}</div>")
        return page.section("Program", *parts, id="source") if trace.source.strip() else ""

    def _tensors(self, left_out: Sequence[str]) -> str:
        if not self.trace.tensors or _OTHERS in left_out:
            return ""
        return (
            '<div class="row"><input type="search" id="filter" placeholder="Filter by name or type"'
            ' aria-label="Filter the tensors"></div>'
            f'{page.mounted("drawTable", TABLE, "tensors")}<div id="detail"></div>'
        )

    def _curves(self) -> str:
        if not self._plots:
            return ""
        about = curves.describe_nonfinite(self.trace.curves)
        return page.charts() + page.notes([about] if about else [])

    def _events(self) -> str:
        return events.all_html(self.trace) if self.trace.events else ""

    # -- what is drawn

    @cached_property
    def _table(self) -> dict[str, Any]:
        trace = self.trace
        shown = tensors.shown_tensors(trace)
        rows = tensors.tensor_rows(shown, colours=leaf_colours(trace), most=limits.DOCUMENT_ROWS)
        if len(trace.files) > 1:
            rows = tuple(_in_file(row, trace) for row in rows)
        return table_data(
            tensors.tensor_columns(trace.tensors),
            rows,
            label="Tensors of the program",
            total=len(shown),
            selected=None,
        )

    @cached_property
    def _details(self) -> dict[int, str]:
        """Each tensor in detail."""
        shown = tensors.shown_tensors(self.trace)[: limits.DOCUMENT_ROWS]
        pictures = len(shown) <= limits.DOCUMENT_PICTURES
        return {
            record.id: f"{tensors.facts(record, self.trace.place)}<div class='ax-flows'>"
            f"{''.join(tensors.detail(self.trace, record, pictures=pictures))}</div>"
            for record in shown
        }

    @cached_property
    def _plots(self) -> Sequence[Mapping[str, Any]]:
        trace = self.trace
        if trace.pass_count < 2:
            return ()
        cells = {
            f"curve-{i}": (
                curves.to_plot(curve, trace.pass_count, None),
                _LOSS if curve.kind == "loss" else _NORM,
            )
            for i, curve in enumerate(trace.curves)
        }
        return plots_data(cells)

    @cached_property
    def _lines(self) -> list[int]:
        """The lines that made something, which can be pressed."""
        made = {record.line for record in self.trace.tensors}
        made |= {node.line for shown in self.trace.passes for node in shown.nodes}
        return sorted(line for line in made if line)


class _Pass:
    """One backward pass: its graph in all its foldings, and its walk."""

    def __init__(self, trace: Trace, shown: BackwardPass) -> None:
        self.trace, self.shown = trace, shown
        self.title = f"Backward from {shown.root}" + (
            f", {trace.place(shown.line)}" if shown.line and not shown.ours else ""
        )
        self.graph = PassGraph(trace, shown)
        most = max(1, limits.MOST_LAYOUTS // len(trace.passes))
        every = self.graph.foldings()
        self._foldings, self._left = every[:most], len(every[most:])

    @cached_property
    def drawn(self) -> DrawnPass:
        return self.graph.draw()

    @cached_property
    def laid_out(self) -> list[page.LaidOut]:
        """Its graph as it opens, and in all other foldings; nothing without the dot program."""
        return page.lay_out(self._foldings, self.graph.dot)

    @cached_property
    def _factored(self) -> str:
        """The graph with the factors on its edges, where these fit."""
        dot = self.drawn.with_factors
        return page.lean((graphviz.svg(dot) if dot and self.laid_out else None) or "")

    @cached_property
    def _entries(self) -> dict[int, list[tuple[str, str]]]:
        """By step: the entries of its gradients that can be followed, each with the sum that gives
        it."""
        found: dict[int, list[tuple[str, str]]] = {}
        left = limits.DOCUMENT_ENTRIES
        for i, step in enumerate(self.shown.steps):
            for one in matrix_inputs(step, self.shown) if left > 0 else ():
                indices = one.entries[: max(left, 0)]
                names = [f"{one.name}{list(index) or ''}" for index in indices]
                texts = entries_html(step, one, indices)
                found.setdefault(i, []).extend(zip(names, texts, strict=True))
                left -= len(one.entries)
        return found

    def _sentences(self) -> Iterator[str]:
        """What the graph's words mean, and what is not here."""
        hooked = {record.id for record in self.trace.tensors if record.grad_note}
        if any(node.tensor in hooked for node in self.shown.nodes):
            yield "“(hook)”, “(read by a hook)”: the gradient is not in .grad; a hook read it."
        if self._left:
            yield f"{pluralize(self._left, 'block')} cannot be opened here."
        if left_out(self.shown):
            yield left_out(self.shown).strip()

    def data(self, foldings: int, *, flows: bool, steps: bool, is_first: bool) -> dict[str, Any]:
        """What the browser gets: of its foldings so many, besides the first; with the `steps` of
        the walk, and their `flows`."""
        shown, graph, folds = self.shown, self.graph, self.graph.folds
        steps_of = walk.steps_of_nodes(shown)
        nodes = {
            node.id: [node.tensor, node.line, steps_of.get(node.id)]
            for node in shown.nodes
            if node.kind != "saved"
        }
        return {
            "title": self.title,
            "svg": "" if is_first or not self.laid_out else self.laid_out[0].svg,
            "factored": self._factored,
            "unfolded": [sorted(one.unfolded) for one in self.laid_out[: foldings + 1]],
            "left": " ".join(self._sentences()),
            "blocks": {
                block.id: [block.label, block.line, block.around] for block in folds.blocks.values()
            },
            "around": {name: around for name, around in folds.nodes.items() if around},
            "boxes": graph.boxes,
            "nodes": nodes,
            "names": graph.names(),
            "notes": dict(self.drawn.links.notes),
            "colours": dict(node_colours(self.trace, shown.nodes)),
            "arrival": walk.arrival_steps(shown),
            "awaited": walk.arrivals_of_tensors(shown, self.trace.tensors),
            "steps": [*self._steps(flows)] if steps else [],
            "start": progress(0, shown),
            "legend": "" if is_first else legend_html(self.drawn.dot),
        }

    def _steps(self, flows: bool) -> Iterator[dict[str, Any]]:
        shown = self.shown
        for i, step in enumerate(shown.steps[: limits.DOCUMENT_STEPS]):
            rule = named_rule(step, shown)
            formulas = "".join(map(math_html, filter(None, (rule.formula, rule.numbers))))
            words = rule_html(step, shown, letters=rule.letters, place=self.trace.place)
            found = walk.raw_marks(i, shown)
            yield {
                "node": step.node,
                "to": [flow.to for flow in step.grads_out if flow.to is not None],
                "moving": [vars(move) for move in found.moving],
                "sums": [vars(one) for one in found.sums],
                "rule": f'{words}<div class="rule">{formulas}</div>',
                "flows": step_html(walk.Selection(step=i), shown) if flows else "",
                "entries": self._entries.get(i, []) if flows else [],
                "at": progress(i + 1, shown),
            }


_FEW_EVENTS = 12
_WALK = (
    '<div class="row" id="walk"><button id="before">Previous step</button>'
    '<button id="after">Next step</button><button id="play">Play</button>'
    '<input type="range" id="at" min="0" value="0" aria-label="Step of the backward pass">'
    '<output id="where"></output></div>'
)


def _in_file(row: Row, trace: Trace) -> Row:
    """A row of the table with the file of its line."""
    place = trace.place(row.line).removeprefix("line ") if row.line else row.cells[1]
    return replace(row, cells=(row.cells[0], place, *row.cells[2:]))


def _title(trace: Trace) -> str:
    if trace.files:
        return trace.files[0].name
    return f"Backward from {trace.passes[0].root}" if trace.passes else "A program and its tensors"


def _printed(trace: Trace) -> Iterator[str]:
    """What was printed, and the figures at their places in it."""
    start = 0
    for figure in sorted(trace.figures, key=lambda one: (one.position, one.line)):
        end = min(max(figure.position, start), len(trace.output))
        yield _pre(trace.output[start:end])
        start = end
        png = base64.b64encode(figure.png.tobytes()).decode()
        yield (
            f'<figure><img src="data:image/png;base64,{png}" alt="{escape(figure.alt)}" '
            f'width="{round(figure.width / 1.5)}"></figure>'
        )
    yield _pre(trace.output[start:])
    yield page.notes(f"Warning: {note}" for note in trace.notes)


def _pre(text: str) -> str:
    text = as_on_a_terminal(text).strip("\n")
    if len(text) > limits.PRINTED:
        start, end = (
            outside_numbers(text, at)
            for at in (limits.PRINTED // 2, len(text) - limits.PRINTED // 2)
        )
        text = f"{text[:start]}\n… {end - start:,} characters …\n{text[end:]}"
    return f'<pre class="ax-printed">{escape(text)}</pre>' if text.strip() else ""
