"""The Network page, run through app.py as Streamlit's own test runner does."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from explorer.networks import fold, names, problem, runs
from explorer.networks.classifiers import CLASSIFIERS, PublishedWeights
from explorer.networks.settings import Settings, describe_preset, make_script
from explorer.ui.network import choose, figures, graph, table, tree
from explorer.ui.network.charts import log_ticks
from explorer.ui.network.selection import Shown
from explorer.ui.network.tabs import TABS, tab_titles
from explorer.ui.widgets.network_call import NetworkJob
from tests.marks import thorough
from tests.pages.test_pages import component, html_of, opened

PAGE = "pages/network.py"
SMALL = [name for name in names() if name not in CLASSIFIERS]


def settled(at: Any) -> Any:
    """The page once nothing is under way, as a browser would poll it."""
    limit = time.monotonic() + 60
    while len(at.get("progress")) and time.monotonic() < limit:
        time.sleep(0.1)
        at.run()
    assert not at.exception
    assert not len(at.get("progress"))
    return at


def fine(at: Any) -> Any:
    settled(at)
    assert "ax-error" not in html_of(at)
    return at


@pytest.fixture
def page() -> Any:
    return preset(fine(opened(PAGE)), "ToyModel")


def view(at: Any, name: str) -> Any:
    at.session_state["part"] = name
    return fine(at.run())


def preset(at: Any, name: str) -> Any:
    return settled(at.selectbox(key="preset").set_value(name).run())


def lines(at: Any, kind: str = "Layers") -> dict[str, list[Any]]:
    """The tree, or the parameters: a row's whole name to its cells and its note."""
    rows = component(at, "tables")["tables"][kind]["rows"]
    return {path: [*cells, *(rest[:1] or [""])] for _, path, _, _, _, cells, *rest in rows}


def layers(at: Any) -> dict[str, list[Any]]:
    """The rows of the tree that are layers, without blocks."""
    rows = component(at, "tables")["tables"]["Layers"]["rows"]
    names = {path for _, path, _, target, *_ in rows if target}
    return {name: line for name, line in lines(at).items() if name in names}


def boxes(at: Any) -> str:
    return component(at, "svg")["svg"]


def click(at: Any, box: str) -> Any:
    """A click on the graph's box with this name."""
    nodes = at.selectbox(key="network-graph-list")
    label = next(o for o in nodes.options if o.split(" · ")[0] == box)
    return fine(nodes.select_index(nodes.options.index(label)).run())


@pytest.mark.fast
def test_opens_on_a_network_that_is_known() -> None:
    at = fine(opened(PAGE))
    assert at.selectbox(key="preset").value == "LeNet-5"
    assert len(layers(at)) == 12


@pytest.mark.fast
def test_a_layer_that_is_never_used(page: Any) -> None:
    cells = layers(page)
    assert list(cells) == ["conv1", "conv2", "pool", "fc", "tmp"]
    toy = problem("ToyModel")
    toy.network.criterion(toy.model(*toy.inputs)).backward()
    for name in ("conv1", "conv2", "fc"):
        layer = getattr(toy.model, name)
        norm = torch.cat([p.grad.flatten() for p in layer.parameters()]).norm().item()
        assert cells[name][-2] == pytest.approx(norm, rel=1e-3)
    assert cells["tmp"][-2] == "None"
    assert cells["tmp"][-1].startswith("never used: forward does not call this layer")
    assert "forward does not call it, so its parameters get no gradient" in html_of(page)
    page.button(key="health-0-tmp").click()
    assert fine(page.run()).query_params["at"] == "tmp"
    assert "conv2" in boxes(page)
    total = sum(p.numel() for p in toy.model.parameters())
    assert f"Total params <b>{total:,}</b>" in html_of(page)
    assert table.NOT_COUNTED in cells["pool"]


@pytest.mark.parametrize("name", SMALL)
def test_every_small_preset_opens(page: Any, name: str) -> None:
    fine(preset(page, name))
    assert "<svg" in boxes(page)
    shown = problem(name)
    total = sum(p.numel() for p in shown.model.parameters())
    assert f"Total params <b>{total:,}</b>" in html_of(page)
    view(page, "Source")
    assert shown.source.strip() in page.code[0].value


@pytest.mark.fast
def test_the_layers_stay_open_on_a_network_with_other_tabs(page: Any) -> None:
    view(page, "Histogram")
    preset(page, "linear layer")  # has no Accumulation
    view(page, "Layers")
    assert "conv1" in layers(preset(page, "ToyModel"))


def shown_of(name: str) -> Shown:
    facts = describe_preset(name)
    inspected = runs.inspect_network(Settings(name), NetworkJob())
    return Shown(Settings(name), facts, inspected.report, inspected)


@pytest.mark.parametrize("title", TABS)
def test_each_tab_of_the_table(title: str) -> None:
    """Each opens, and draws something, on the first small preset that it applies to; beside it are
    the tabs that apply too, and no others."""
    name, shown = next((n, s) for n in SMALL if TABS[title].applies(s := shown_of(n)))
    at = view(preset(fine(opened(PAGE)), name), title)
    assert [tab.label for tab in at.tabs] == tab_titles(shown)
    assert [tab.label for tab in at.tabs if tab.children] == [title]


def test_a_large_network_shows_structure_first_and_numbers_after(page: Any) -> None:
    page.selectbox(key="preset").set_value("mobilenet_v3_small").run()
    assert "features.1" in boxes(page)  # whether or not the numbers are there
    fine(page)
    assert "gradient norm" in boxes(page)
    assert len(layers(page)) > 100
    view(page, "Histogram")
    assert "Elements" in html_of(page)


@pytest.mark.parametrize(
    ("name", "block"), [("densenet201", "denseblock1"), ("resnet152", "layer3")]
)
def test_the_largest_open_on_meta(name: str, block: str) -> None:
    report = runs.inspect_on_meta(Settings(name), NetworkJob())
    assert report.error is None
    assert report.loss is None
    assert report.total_params == sum(row.params for row in report.layers)
    assert report.structure is not None
    opened = graph.first_unfolded(report.structure)
    boxes = fold(report.structure, opened).nodes
    assert 5 <= len(boxes) <= 30
    assert any(block in node.name for node in boxes)


def test_a_block_unfolds_and_folds_again(page: Any) -> None:
    fine(preset(page, "resnet18"))
    assert "layer1.0" not in boxes(page)
    click(page, "layer1")
    assert "layer1.0" in boxes(page)
    assert page.query_params["open"] == "layer1"
    page.button(key="fold").click().run()
    assert "layer1.0" not in boxes(fine(page))


@pytest.mark.fast
def test_a_layer_is_chosen_everywhere(page: Any) -> None:
    click(page, "conv1")
    assert page.query_params["at"] == "conv1"
    assert component(page, "layer")["layer"] == "conv1"
    assert component(page, "svg")["selected"] is not None
    assert view(page, "Histogram").selectbox(key="parameter").value == "conv1.weight"
    assert view(page, "Hook laboratory").selectbox(key="place").value == "conv1"
    preset(page, "LeNet-5")  # nothing of it stays on another network
    assert "at" not in page.query_params


def test_the_smallest_gradient_is_found_in_one_action(page: Any) -> None:
    fine(preset(page, "resnet18"))
    norms = {name: cells[-3] for name, cells in lines(page, "Parameters").items()}
    smallest = min(norms, key=norms.__getitem__)
    button = page.button(key="extreme-smallest")
    assert button.label == f"`{smallest}`"
    assert f"{norms[smallest]:.5g}" in html_of(page)
    assert "Smallest gradient norm of a parameter:" in html_of(page)
    tables = component(page, "tables")["tables"]  # tags are on parameters, as in the sentence
    assert tables["Layers"]["extremes"] == {}
    marked = tables["Parameters"]["extremes"]["smallest"]
    assert tables["Parameters"]["rows"][marked][1] == smallest
    button.click().run()
    layer = smallest.rpartition(".")[0]
    assert fine(page).query_params["at"] == layer
    assert component(page, "layer")["layer"] == layer
    assert view(page, "Histogram").selectbox(key="parameter").value == smallest


def test_a_tree_of_sums(page: Any) -> None:
    fine(preset(page, "resnet18"))
    rows = lines(page)
    assert rows["layer1.0…1"][0] == "2 × BasicBlock"
    sums = {name: cells[3] for name, cells in rows.items()}
    assert sums["(model)"] == sum(p.numel() for p in problem("resnet18").model.parameters())
    assert sums["layer1"] == sums["layer1.0…1"] == sums["layer1.0"] + sums["layer1.1"]
    assert sums["layer1.0"] == sum(n for name, n in sums.items() if name.startswith("layer1.0."))


def test_a_layer_inside_a_folded_block_marks_the_block(page: Any) -> None:
    page.query_params["at"] = "layer1.0.conv1"
    preset(page, "resnet18")
    page.query_params["at"] = "layer1.0.conv1"
    fine(page.run())
    assert component(page, "svg")["selected"] is not None
    assert "Expand `layer1`" in [button.label for button in page.button]


def test_numbers_still_to_come_are_left_open() -> None:
    report = runs.inspect_on_meta(Settings("mobilenet_v3_small"), NetworkJob())
    for table_ in tree.make_tables(report).values():
        for _, _, _, _, _, cells, *note in table_["rows"]:
            assert len(cells) == len(table_["columns"]) - 1
            assert cells[-1] is None  # neither a number nor "None"
            assert not note


def test_every_node_of_a_small_graph_can_be_drawn(page: Any) -> None:
    page.button_group(key="graph").set_value(graph.NODES).run()
    assert "ConvolutionBackward0" in boxes(fine(page))
    assert "fc.weight" in boxes(page)


@pytest.mark.thorough
def test_the_accumulated_norms_are_the_published_ones(page: Any) -> None:
    view(page, "Accumulation")
    text = html_of(page)
    for norms in (("0.147315", "0.034993", "0.078125", "0.14530"), ("1.72582", "1.72654")):
        assert all(norm in text for norm in norms)
    assert "1828" in text  # the tallest bar of conv2.weight
    page.slider(key="sample").set_value(1).run()
    assert "After sample 1:" in html_of(fine(page))


def test_the_laboratory_shows_what_a_hook_changes(page: Any) -> None:
    fine(preset(page, "linear layer, divided by 4"))
    view(page, "Hook laboratory")
    assert page.selectbox(key="place").value == "linear"
    assert "0 of 2 parameter gradients change" in html_of(page)
    page.button_group(key="hooks-layer").set_value(["backward"]).run()
    fine(page)
    page.selectbox(key="place").set_value("(model)").run()
    assert "2 of 2 parameter gradients change" in html_of(fine(page))
    assert "× 100" in html_of(page)
    page.button_group(key="hooks-layer").set_value(["backward", "full_backward"]).run()
    settled(page)
    assert "can have full or deprecated backward hooks, not both" in html_of(page)


@pytest.mark.parametrize("action", ["look", "clip", "zero", "noise"])
def test_every_action(page: Any, action: str) -> None:
    view(page, "Hook laboratory")
    page.selectbox(key="action").set_value(action).run()
    fine(page)
    assert ("0 of 5" if action == "look" else "2 of 5") in html_of(page)


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        (
            "resnet18",
            {"mode-resnet18": "train mode", "side-resnet18": 32},
            "batch normalisation in train mode needs more than one value per channel",
        ),
        thorough("alexnet", {"side-alexnet": 16}, "smaller than the kernel"),
        ("LeNet-5", {"side-LeNet-5": 48}, "features and got"),
    ],
)
def test_a_model_that_cannot_run_gets_a_sentence(
    page: Any, name: str, changes: dict[str, Any], words: str
) -> None:
    preset(page, name)
    for key, value in changes.items():
        page.session_state[key] = value
    page.run()
    settled(page)
    assert "ax-error" in html_of(page)
    assert words in html_of(page)
    assert len(layers(page)) >= 1  # what came before
    counts = [cell for row in layers(page).values() for cell in row if isinstance(cell, int)]
    assert min(counts) >= 0
    for tab in page.tabs:
        page.session_state["part"] = tab.label
        settled(page.run())


@pytest.mark.thorough
def test_nan_weights_are_named(page: Any) -> None:
    page.toggle(key="nan").set_value(True).run()
    fine(page)
    assert "Weights that contain NaN or infinity: fc.weight" in html_of(page)
    for tab in page.tabs:
        view(page, tab.label)


def test_weights_that_cannot_be_fetched_get_a_sentence(
    page: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    nowhere = PublishedWeights("http://127.0.0.1:9/resnet18-f37072fd.pth", 45.0)
    monkeypatch.setattr(choose, "published_weights", lambda name: nowhere)
    preset(page, "resnet18")
    page.button_group(key="trained").set_value("ImageNet").run()
    settled(page)
    assert "so the weights shown are random" in html_of(page)
    next(b for b in page.button if b.label.startswith("Download")).click().run()
    settled(page)
    assert "could not be downloaded" in html_of(page)
    assert "layer1" in boxes(page)


def test_a_rerun_that_changes_nothing_runs_no_network(
    page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*args: Any) -> None:
        raise AssertionError("the network ran")

    monkeypatch.setitem(runs.RUNS, "inspect_network", run)
    fine(page.run())
    assert fine(opened(PAGE))  # nor another reader


def test_stepping_hands_the_network_over(page: Any) -> None:
    assert any(button.label == "Open in Optimizer" for button in page.button)
    preset(page, "resnet18")
    assert not any(button.label == "Open in Optimizer" for button in page.button)


def test_csv_and_script_hold_the_same_numbers() -> None:
    settings = Settings("ToyModel", batch=2, side=40, train=False)
    report = runs.inspect_network(settings, NetworkJob()).report
    rows = list(csv.DictReader(io.StringIO(table.layers_csv(report).decode())))
    assert [row["layer"] for row in rows] == ["(model)", "conv1", "conv2", "pool", "fc", "tmp"]
    block, *layers = rows
    assert block["kind"] == "block"
    assert sum(int(row["parameters"]) for row in layers) == report.total_params
    assert int(block["parameters"]) == report.total_params
    assert layers[0]["input"] == "2×3×40×40"
    rows = list(csv.DictReader(io.StringIO(table.parameters_csv(report).decode())))
    assert [row["parameter"] for row in rows] == [p.name for p in report.parameters]
    for row, parameter in zip(rows, report.parameters, strict=True):
        norm = parameter.grad_norm
        assert row["gradient_norm"] == ("" if norm is None else str(norm))
        assert (float(row["norm"]), float(row["std"])) == (parameter.norm, parameter.std)
    done = subprocess.run(
        [sys.executable, "-c", make_script(settings, describe_preset(settings.name))],
        capture_output=True,
        text=True,
        check=True,
    )
    printed = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert float(printed["loss"]) == pytest.approx(report.loss, rel=1e-4)
    for parameter in report.parameters:
        norm = printed[parameter.name].rpartition(" ")[2]
        if parameter.grad_norm is None:
            assert norm == "None"
        else:
            assert float(norm) == pytest.approx(parameter.grad_norm, rel=1e-4)


@pytest.mark.parametrize("name", SMALL)
def test_every_script_compiles_and_changes_are_in_it(name: str) -> None:
    script = make_script(Settings(name, train=True, nan=True), describe_preset(name))
    compile(script, name, "exec")


def test_changes_are_those_of_plain_torch() -> None:
    settings = Settings("LeNet-5", batch=3, nan=False, train=False)
    inspected = runs.inspect_network(settings, NetworkJob())

    with torch.random.fork_rng():
        torch.manual_seed(0)
        plain = problem("LeNet-5").collect()  # type: ignore[attr-defined]
    loss = F.cross_entropy(plain.model.eval()(plain.inputs[:3]), plain.targets[:3])
    loss.backward()
    assert inspected.report.loss == pytest.approx(loss.item(), rel=1e-5)
    for name, parameter in plain.model.named_parameters():
        counts, edges = np.histogram(parameter.grad.numpy(), 10)
        histogram = inspected.histograms[name][0]
        assert histogram is not None
        assert histogram.counts.tolist() == counts.tolist()
        np.testing.assert_allclose(histogram.edges, edges, rtol=1e-5)


def test_bars_name_what_there_is_room_for() -> None:
    assert figures.block_starts(["a.w"] * 40 + ["b.w"] * 40 + ["c.w"]) == {0: "a", 40: "b"}
    assert figures.needs_log_scale([1e-6, 1.0])
    assert log_ticks(0.11, 44.6) == [0.2, 0.5, 1, 2, 5, 10, 20]
    assert log_ticks(5e-6, 3.0) == [1e-5, 1e-4, 1e-3, 0.01, 0.1, 1]
    assert not figures.needs_log_scale([0.0, float("nan"), 1.0, 2.0])
