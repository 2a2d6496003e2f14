"""Every key of `st.session_state` that the pages use, and how its value survives the loss of a
server. Whoever adds a key says so here; what would be lost is given to `reconnect.keep`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import explorer.ui

pytestmark = pytest.mark.fast

ROOT = Path(__file__).parents[3]
UI = Path(explorer.ui.__file__).parent

#: By how they survive, the keys in each file. `{name}` stands for a variable or part of a key.
KEYS = {
    "the browser sends it: the value of a widget, or of a component for the moment of a press": """
        widgets/consent.py open-file {key}
        widgets/drag.py {key}
        widgets/editor.py {key}
        widgets/glossary_dialog.py asked
        widgets/inputs.py {key}
        widgets/mounts.py {key}
        widgets/query_params.py {key}
        widgets/basics.py {key}
        expression/iterations.py iteration
        expression/lesson.py make-lesson-{key}
        expression/graph_panel.py panel
        expression/panels.py panel {LINE_VALUES} {key}
        expression/walk.py names
        feature_maps/channels.py order page scale
        feature_maps/decision.py class
        feature_maps/image_choice.py picture second
        feature_maps/image_grid.py {key}
        feature_maps/live_slider.py {key}
        feature_maps/network_choice.py network weights
        feature_maps/own_network.py {MODULE}
        feature_maps/pointer.py map
        feature_maps/selection.py call channel column layer row
        feature_maps/tabs.py look
        home/live_box.py {PROGRAM}
        network/accumulation.py sample
        network/attention.py {key}
        network/charts.py norm-chart
        network/choose.py {MODULE}
        network/selection.py parameter place {key} {name}
        network/histograms.py train-step
        network/tree.py layers
        optimizer/controls.py n zeros
        optimizer/more.py zeros
        optimizer/numbers.py numbers
        optimizer/problems.py problem {key}
        optimizer/sliders.py sliders
        optimizer/surface.py surface
        """,
    "the link has it": """
        widgets/inputs.py inputs.values
        widgets/inputs.py inputs.wanted
        widgets/lesson_strip.py lesson.newest
        expression/lesson.py lesson-kept
        expression/selection.py {self._key}
        feature_maps/live_slider.py {key}.slider
        optimizer/link.py run.settings
        optimizer/session.py steps
        """,
    "the browser keeps it": """
        widgets/glossary_dialog.py lookup-open
        widgets/reconnect.py reconnect.kept reconnect.queries {key} {key}.lost
        expression/gradient_check.py check-asked
        expression/graph_panel.py unfolded
        expression/lesson.py revealed
        feature_maps/network_choice.py network-automatic
        feature_maps/results.py {stopped}
        network/graph.py network-node
        optimizer/numbers.py steps.picked
        """,
    "it is asked for again": """
        widgets/reconnect.py {key}.asked {asked}
        feature_maps/image_choice.py picture-file picture-read-image picture-read-{slot}
        feature_maps/network_choice.py {key}
        feature_maps/own_network.py weights-digest
        """,
    "it follows from the others": """
        widgets/consent.py consent.begun consent.foreign consent.opened
        widgets/editor.py {key}-was-long
        widgets/query_params.py query_params.invalid
        widgets/lesson_strip.py lesson.strip
        widgets/reconnect.py reconnect.started
        expression/curve.py curve.last
        expression/gradient_check.py checked
        expression/output.py figures.failed
        expression/program.py last-run run-asked run-source
        expression/walk.py walk-slider
        feature_maps/image_choice.py picture-last
        feature_maps/tabs.py look-drawn
        home/live_box.py home.last
        network/charts.py norms-picked
        network/choose.py own-failed own-network
        optimizer/more.py {GROUP.key} {GROUP_LR.key} {kind} {kind}.{name} {key}
        optimizer/numbers.py parameter
        optimizer/problems.py own-was-long
        optimizer/session.py steps.place steps.refused
        """,
    "it begins anew: a run, a drag, playback, a stopped run, a hint, what the last change did": """
        widgets/drag.py {key}.run {key}.state
        server/live_run.py sandbox.live
        widgets/network_call.py network.calls
        widgets/open_in_optimizer.py step_program
        widgets/open_network.py network-program
        server/places.py frame.rerun-rate
        server/sandbox_call.py sandbox.arrived sandbox.jobs sandbox.page
        expression/iterations.py iteration.program
        expression/lesson.py lesson.hint
        expression/walk.py walk.moved walk.playing
        feature_maps/comparison.py comparison.chosen
        feature_maps/network_choice.py network-turned
        network/runs.py {place}
        optimizer/more.py settings.refused
        """,
}


def used_keys() -> Iterator[tuple[str, str]]:
    """Files that use the session, each with a key as it is written there."""
    for file in (
        ROOT / "app.py",
        *sorted((ROOT / "pages").glob("*.py")),
        *sorted(UI.rglob("*.py")),
    ):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        constants, short = _constants(tree), _short_names(tree)
        name = str(file.relative_to(UI)) if UI in file.parents else file.name
        for node in ast.walk(tree):
            key = _key(node, short)
            if key is not None:
                yield name, _text(key, constants)


def _key(node: ast.AST, short: set[str]) -> ast.expr | None:
    """The key of a look-up in the session; None for anything else."""

    def is_state(value: ast.expr) -> bool:
        long = isinstance(value, ast.Attribute) and value.attr == "session_state"
        return long or (isinstance(value, ast.Name) and value.id in short)

    match node:
        case ast.Subscript(value, key) if is_state(value):
            return key
        case ast.Call(ast.Attribute(value, "get" | "pop" | "setdefault"), [key, *_]):
            return key if is_state(value) else None
        case ast.Compare(key, [ast.In() | ast.NotIn()], [value]) if is_state(value):
            return key
        case ast.Attribute(value, attribute) if is_state(value) and attribute not in dir(dict):
            name = isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name)
            is_streamlit = name and getattr(value, "value").id == "st"  # noqa: B009
            return ast.Constant(attribute) if is_streamlit else None
    return None


def _constants(tree: ast.Module) -> dict[str, str]:
    """The texts that a module gives to names of its own."""
    found = {}
    for node in tree.body:
        match node:
            case ast.Assign([ast.Tuple(names)], ast.Tuple(values)):
                pairs = list(zip(names, values, strict=True))
            case ast.Assign([target], value):
                pairs = [(target, value)]
            case _:
                continue
        for target, value in pairs:
            match target, value:
                case ast.Name(name), ast.Constant(str(text)):
                    found[name] = text
    return found


def _short_names(tree: ast.Module) -> set[str]:
    """Names for the session itself: `state = st.session_state`."""
    names = set()
    for node in ast.walk(tree):
        match node:
            case ast.Assign([ast.Name(name)], ast.Attribute(attr="session_state")):
                names.add(name)
            case ast.Assign([ast.Tuple([ast.Name(name), *_])], ast.Tuple([first, *_])):
                if isinstance(first, ast.Attribute) and first.attr == "session_state":
                    names.add(name)
    return names


def _text(key: ast.expr, constants: dict[str, str]) -> str:
    match key:
        case ast.Constant(value):
            return str(value)
        case ast.Name(name) if name in constants:
            return constants[name]
        case ast.JoinedStr(parts):
            return "".join(_text(part, constants) for part in parts)
        case ast.FormattedValue(value):
            return _text(value, constants)
    return f"{{{ast.unparse(key)}}}"


def test_every_key_of_the_session_survives_in_a_way_that_is_known() -> None:
    listed = [
        (file, key)
        for lines in KEYS.values()
        for file, *keys in map(str.split, filter(str.strip, lines.splitlines()))
        for key in keys
    ]
    assert len(listed) == len(set(listed))
    assert set(used_keys()) == set(listed)
