"""What a network computes from an image, asked for by the functions of `explorer.vision.RUNS`.

`ask` gives a short run's result at once; `await_run` waits for a long one in the queue, with its
progress and a button to stop it. Results of `ask` are immutable and kept for all readers who need
the same one. A reader's own network runs in a child.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import streamlit as st
from torch import OutOfMemoryError, Tensor

from explorer import limits
from explorer.networks import CPU
from explorer.networks.error_messages import explain
from explorer.networks.runs import Abandoned
from explorer.program import ProgramRefused
from explorer.ui.feature_maps.image_choice import ChosenImage
from explorer.ui.feature_maps.network_choice import LoadedModel, in_place_of_own, untrained
from explorer.ui.feature_maps.own_network import ask_child, child_call
from explorer.ui.server import sandbox_call
from explorer.ui.server.shared_cache import SharedCache, shared
from explorer.ui.widgets.basics import device, note, refuse
from explorer.ui.widgets.network_call import NetworkJob, await_result, leave
from explorer.ui.widgets.reconnect import keep, restore_once
from explorer.vision import (
    FeatureMaps,
    Normalisation,
    Prediction,
    PreparedImage,
    class_scores,
    copy_on,
    feature_maps,
    first_not_finite,
    layer_kernels,
    map_layers,
    receptive_fields,
    top,
)
from explorer.vision.drawing import to_png
from explorer.vision.feature_maps import Of
from explorer.vision.receptive_field import Field

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class ModelInput:
    """An image prepared for a loaded model."""

    chosen: ChosenImage
    loaded: LoadedModel
    prepared: PreparedImage

    @property
    def key(self) -> tuple[str, ...]:
        return (self.chosen.digest, *self.loaded.key)

    @property
    def tensor(self) -> Tensor:
        """The network's input (1 × 3 × height × width), on its device."""
        return self.prepared.tensor.to(self.loaded.device)

    @property
    def normalisation(self) -> Normalisation:
        """How pixels become the network's input."""
        return self.loaded.backbone.normalisation

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of its outputs; of random weights no output stands for a class."""
        labels = self.loaded.backbone.labels
        return labels if self.loaded.trained else tuple(f"output {i}" for i in range(len(labels)))


#: The results, by what was asked: they are immutable, so all readers may share one.
_results: SharedCache[Any] = SharedCache(limits.KEPT_RESULTS)
#: What every visit to a reader's own network asks after `first_not_finite`: one child answers all.
_NEXT: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (map_layers, {"of": "output"}),
    (receptive_fields, {"of": "output"}),
    (class_scores, {}),
]
#: What is the same for all images of one size; a reader's own network may do something else with
#: every image.
_OF_ANY_IMAGE = {map_layers, receptive_fields, layer_kernels}
#: A reader waits for one long run at a time.
_LONG = "look"


def by_input(model_input: ModelInput, *more: Hashable) -> Hashable:
    """The key in a cache of what depends on an input, and on more."""
    return model_input.key, *more


def make_model_input(chosen: ChosenImage, loaded: LoadedModel) -> ModelInput:
    """The image prepared by the network's own transform, on the chosen device.

    Random weights replace the reader's own where those overflow, and the CPU replaces a device
    that cannot run the network; the page says so.
    """
    prepared = _with_finite_weights(chosen, loaded)
    chosen_device = CPU if prepared.loaded.module else device("Where the network runs")
    if chosen_device == CPU:
        return prepared
    try:
        return replace(prepared, loaded=_moved(prepared, chosen_device))
    except RuntimeError as error:  # out of memory, or an operation that the device does not have
        refuse(f"On {chosen_device}: {explain(error).message} The CPU is used instead.")
        return prepared


def _with_finite_weights(chosen: ChosenImage, loaded: LoadedModel) -> ModelInput:
    prepared = _prepare(chosen.digest, loaded.backbone.name, chosen, loaded)
    model_input = ModelInput(chosen, loaded, prepared)
    try:
        layer = ask(model_input, first_not_finite) if loaded.own else None
    except ProgramRefused as refused:
        refuse(refused.error.message)
        return _with_finite_weights(chosen, in_place_of_own())
    if layer is None:
        return model_input
    if loaded.module:
        refuse(f"For this image, layer {layer} of your network outputs infinite values or NaN.")
        return _with_finite_weights(chosen, in_place_of_own())
    refuse(
        f"With the weights in this file, layer {layer} outputs infinite values or NaN. Check the "
        "file; random weights are used instead."
    )
    return replace(model_input, loaded=untrained(loaded.backbone))


@shared(limits.KEPT_ON_DEVICES, key=lambda model_input, device: (model_input.loaded.key, device))
def _moved(model_input: ModelInput, device: str) -> LoadedModel:
    """A copy of the network that has run on the device once."""
    with st.spinner("Moving the network"):
        model = copy_on(model_input.loaded.model, device)
        first_not_finite(model, model_input.prepared.tensor.to(device))
    return replace(model_input.loaded, model=model, device=device)


@shared(limits.KEPT_INPUTS, key=lambda digest, network, *_: (digest, network))
def _prepare(digest: str, network: str, chosen: ChosenImage, loaded: LoadedModel) -> PreparedImage:
    return loaded.backbone.prepare(chosen.image.rgb)


@shared(limits.KEPT_PICTURES, key=by_input)
def input_png(model_input: ModelInput) -> bytes:
    """The network's input as it is seen."""
    return to_png(model_input.prepared.rgb)


def ask(model_input: ModelInput, run: Callable[..., T], **arguments: Any) -> T:
    """What one of `explorer.vision.RUNS` gives for this input, computed once for all readers.

    A ModelInput among the arguments stands for its tensor. Raises ValueError where the run does,
    with a sentence for the reader.
    """
    inputs = {k: v.tensor for k, v in arguments.items() if isinstance(v, ModelInput)}
    keys = {k: v.key for k, v in arguments.items() if isinstance(v, ModelInput)}
    of_any_image = run in _OF_ANY_IMAGE and model_input.loaded.module is None
    shape = tuple(model_input.prepared.values.shape)
    depends_on = (*shape, *model_input.loaded.key) if of_any_image else model_input.key
    key = _key(run, depends_on, arguments | keys)
    return _results.get_or_make(key, lambda: _perform(model_input, run, arguments | inputs))


def _key(run: Callable[..., Any], depends_on: tuple[Any, ...], arguments: Mapping[str, Any]) -> Any:
    return run.__name__, depends_on, tuple(sorted(arguments.items()))


def _perform(model_input: ModelInput, run: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Do a run: of a network of the app here, of a reader's own in a child."""
    module = model_input.loaded.module
    if module is None:
        with st.spinner("Running the network"):
            return run(model_input.loaded.model, model_input.tensor, **arguments)
    asked = [(run, arguments)]
    if run is first_not_finite:
        asked += _NEXT if model_input.labels else _NEXT[:-1]
    first, *others = ask_child(module, model_input.prepared.values, asked)
    for (other, given), result in zip(asked[1:], others, strict=True):
        _results.put(_key(other, model_input.key, given), result)
    return first


def ask_or_reason(model_input: ModelInput, run: Callable[..., T], **arguments: Any) -> T | str:
    """The same, or a sentence that says why there is no result."""
    try:
        return ask(model_input, run, **arguments)
    except (ValueError, ProgramRefused) as error:
        return str(error)
    except OutOfMemoryError as error:
        return explain(error).message


def maps(model_input: ModelInput, layer: str, of: Of, call: int) -> FeatureMaps:
    """One call of one layer."""
    return ask(model_input, feature_maps, layer=layer, of=of, call=call)


def field(model_input: ModelInput, layer: str, of: Of, call: int) -> Field:
    """The receptive field of the positions of a layer; None where it is not known."""
    calls = ask(model_input, receptive_fields, of=of).get(layer, ())
    return calls[call] if call < len(calls) else None


def prediction(model_input: ModelInput) -> tuple[Prediction, ...]:
    """The five classes with the highest scores."""
    return tuple(top(ask(model_input, class_scores), model_input.labels))


def with_image(model_input: ModelInput, chosen: ChosenImage) -> ModelInput:
    """Another image prepared for the same network."""
    loaded = model_input.loaded
    return ModelInput(chosen, loaded, _prepare(chosen.digest, loaded.backbone.name, chosen, loaded))


def await_run(model_input: ModelInput, run: Callable[..., T], **arguments: Any) -> T | None:
    """The result of one of `explorer.vision.RUNS` that takes `progress`; None until it is there.

    It waits in the queue of all readers; what it raises is shown as a sentence.
    """
    name = run.__name__
    key = f"{name} {model_input.key} {arguments!r}"
    module = model_input.loaded.module
    if module:  # its child has a time limit
        submit = child_call(module, model_input.prepared.values, [(run, arguments)])
        try:
            results = sandbox_call.ask(_LONG, key, submit, label="Running your network")
        except ProgramRefused as refused:
            refuse(refused.error.message)
            return None
        return results[0] if results else None
    stopped = f"{name}.stopped"

    def make(job: NetworkJob) -> Any:
        def progress(done: int, total: int) -> None:
            if not job.wanted:
                raise Abandoned
            job.report(f"Run {done + 1} of {total} of the network", done / total)

        return run(model_input.loaded.model, model_input.tensor, progress=progress, **arguments)

    def stop(job: NetworkJob) -> None:
        st.session_state[stopped] = key

    restore_once(stopped, str)
    if st.session_state.get(stopped) == key:
        keep(stopped, key)
        note("Stopped before the end: there is no result.")
        st.button(
            "Run it again",
            key=f"{name}-again",
            icon=":material/replay:",
            help="Starts this run from its beginning",
            on_click=st.session_state.pop,
            args=(stopped,),
        )
        return None
    result: T | None = await_result(_LONG, key, make, on_stop=stop)
    return result


def leave_long_run() -> None:
    """End the run that this reader waits for, if there is one."""
    leave(_LONG)
    sandbox_call.forget(_LONG)
