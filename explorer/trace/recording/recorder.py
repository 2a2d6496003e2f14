"""Records a running program: its tensors, where each was created, and its backward passes."""

from __future__ import annotations

import logging
import re
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from threading import get_ident
from typing import Any

import torch
from torch import nn
from torch.autograd.graph import GradientEdge
from torch.optim.lr_scheduler import LRScheduler

from explorer import limits
from explorer.program import LimitError, Limits, SourceLocation, without_addresses
from explorer.program.notices import BackwardCall
from explorer.trace.recording import passes
from explorer.trace.recording.capture import CapturedValues, capture_values
from explorer.trace.recording.cuts import Cut
from explorer.trace.recording.events import Snapshot, make_change, take_snapshot
from explorer.trace.recording.gradients import Curves, has_gradient
from explorer.trace.recording.hooks import Hooks
from explorer.trace.recording.iterations import MANY_RECORDS, IterationRecorder
from explorer.trace.recording.objects import first_items, grad_fn_of, is_a, quiet
from explorer.trace.recording.passes import RawPass
from explorer.trace.recording.repetitions import Repetitions
from explorer.trace.recording.scaling import Scaling
from explorer.trace.recording.tensor_registry import LiveTensor
from explorer.trace.recording.torchviz_graph import leaf_of, leaves_of, walk_graph
from explorer.trace.recording.training_calls import TrainingCalls
from explorer.trace.text import shortened

_LOG = logging.getLogger(__name__)

#: What tensors are looked for in.
_HOLDERS = (torch.Tensor, nn.Module, list, tuple, dict)
#: What is known from the line on that makes it.
_KNOWN = (torch.optim.Optimizer, LRScheduler)
_OLD_CONSTRUCTOR = re.compile(r"\b(Float|Double)?Tensor\(\s*\[")
_is_traced = torch._C._is_tracing


@dataclass(frozen=True, eq=False)
class Accumulation:
    """A backward pass that added to a gradient already in `.grad`."""

    line: int | None
    number: int
    leaf: torch.Tensor
    old: Snapshot
    new: Snapshot


@dataclass(frozen=True, eq=False)
class RefusedBackward:
    """A backward call on a tensor that does not require grad."""

    line: int
    tensor: torch.Tensor


@dataclass(frozen=True, eq=False)
class LeafBefore:
    """A leaf as it was before a backward pass; with its values only if it is small."""

    leaf: torch.Tensor
    value: Snapshot
    grad: Snapshot
    had_gradient: bool

    @classmethod
    def from_leaf(cls, leaf: torch.Tensor) -> LeafBefore:
        return cls(leaf, take_snapshot(leaf), take_snapshot(leaf.grad), has_gradient(leaf))


class ProgramRecorder(IterationRecorder):
    """The log of a running program, from which `explorer.trace.running` builds the Trace.

    The rewritten program calls the methods of `Watcher`.
    """

    def __init__(self, until: Limits | None = None, **recorded: Any) -> None:
        super().__init__(until, **recorded)
        self.watches_calls = True
        self.repetitions, self.scaling, self.hooks = Repetitions(self), Scaling(self), Hooks(self)
        self.training = TrainingCalls(self, self.scaling.scale_of)
        #: By the name of a watched call: what makes it for the program, and logs what it did.
        self.handlers: dict[str, Callable[..., Any]] = {
            **self.repetitions.handlers,
            **self.scaling.handlers,
            **self.hooks.handlers,
            **self.training.handlers,
            "checkpoint.backward": self._run_nested,
        }
        self.first_passes: list[RawPass] = []
        self.chosen_pass: RawPass | None = None
        self.last_pass: RawPass | None = None
        #: The numbers and lines of the latest passes, as far as they were recorded.
        self.pass_lines: deque[tuple[int, int | None]] = deque(maxlen=limits.MOST_PASS_LINES)
        #: The leaves of the last pass that was recorded.
        self.leaves_of_pass: list[torch.Tensor] = []
        self.refused_backward: RefusedBackward | None = None
        self.accumulations: list[Accumulation] = []
        #: By id of a leaf: the leaf, and its latest values, each with its gradient at that value.
        self.descents: dict[
            int, tuple[torch.Tensor, deque[tuple[CapturedValues, CapturedValues]]]
        ] = {}
        self.curves = Curves()
        #: The lines and the values of bare expressions.
        self.echoes: list[tuple[int, str]] = []
        #: How much had been printed before each.
        self.echo_at: list[int] = []

    @property
    def recorded_passes(self) -> list[RawPass]:
        later = [raw for raw in (self.chosen_pass, self.last_pass) if raw is not None]
        return [*self.first_passes, *dict.fromkeys(later)]

    def finish(self) -> None:
        """Also keep the latest records of the leaves of a pass."""
        super().finish()
        self._choose_leaves()

    @contextmanager
    def as_if_finished(self) -> Iterator[None]:
        """Meanwhile the records are those of a program that has ended; it goes on afterwards, and
        finds nothing changed."""
        chosen, number = list(self.chosen), self.number
        between = [live for live in self.between.values() if live.is_between]
        self._choose_leaves()
        self.keeps_nothing = True
        try:
            yield
        finally:
            self.keeps_nothing = False
            for live in between:
                live.is_between = True
            self.chosen[:], self.number = chosen, number

    def choose(self, live: LiveTensor) -> LiveTensor:
        """Show a record of an iteration between those that are shown."""
        if live.is_between:
            live.is_between = False
            self.chosen.append(live)
        return live

    def _choose_leaves(self) -> None:
        for raw in self.recorded_passes:
            leaves: dict[int, LiveTensor | None] = raw.leaves
            for key, live in leaves.items():
                if live is not None and self.leaves.get(key) is live:
                    self.choose(live)

    def observing(self) -> AbstractContextManager[None]:
        """Record the operations of the program that runs meanwhile."""
        return self.operations.while_running()

    # -- called by the rewritten program --------------------------------------------------------

    def note(self, place: int, value: Any) -> Any:
        """An expression has made a value: a tensor gets a record, with its text as a name until
        the program gives it one."""
        if get_ident() != self.thread:
            return value
        if is_a(value, torch.Tensor):
            if not self.recording:
                self.last_note = (place, value)
                return value
            if _is_traced():
                return value
            self.tick()  # one statement may compute thousands of tensors
            with quiet():
                self.look_at_line(place)
                live = self.find(value)
                location = self.locations[place]
                if live is None and value.numel():
                    self.find_cuts_in_statement(value, location)
                    self.add(("note", place), location.line, location.text, value)
                elif live is not None and not live.named and location.text:
                    live.name, live.line = location.text, location.line
        elif is_a(value, _KNOWN):
            self.training.know(value, self.locations[place].line)
        return value

    def echo(self, place: int, value: Any) -> None:
        """Keep the text of a bare expression's value, unless it says only what kind it is of."""
        if value is None or len(self.echoes) >= limits.MOST_ECHOES or get_ident() != self.thread:
            return
        line = self.line
        with quiet(), suppress(Exception):
            if any(
                map(
                    _is_unshown,
                    first_items(value, limits.MOST_ITEMS) if is_a(value, list | tuple) else [value],
                )
            ):
                return
            text = without_addresses(repr(value))
            if not text.lstrip("[(").startswith("<") or isinstance(
                value, torch.autograd.graph.Node
            ):
                self.echoes.append((self.locations[place].line, shortened(text, limits.MAX_ECHO)))
                self.echo_at.append(self.written)
        self.line = line

    def find_cuts_in_statement(self, tensor: torch.Tensor, location: SourceLocation) -> None:
        """Give a tensor without a record the cuts behind the numbers its statement reads.

        torch.from_numpy creates such a tensor: it is not an operation that can be observed.
        """
        if self.history.active and grad_fn_of(tensor) is None and not self.history.cuts_of(tensor):
            cuts = self.history.cuts_read_by(location.line, location.text)
            if _OLD_CONSTRUCTOR.search(location.text):  # it reads each number as float() does
                cuts = tuple(
                    replace(cut, cause="list", function="tensor")
                    if cut.cause == "__float__"
                    else cut
                    for cut in cuts
                )
            if cuts:
                self.history.add_cuts(tensor, cuts, location.line, "from_numpy")
                for cut in cuts:
                    cut.add_rebuilt(location.line, "from_numpy")

    def bind(self, place: int, name: str, value: Any) -> None:
        """The program has given a name to a value: the tensors in it are known by it from now on.
        In an iteration that is not recorded, that waits until one is (`resume`)."""
        if get_ident() != self.thread:
            return
        is_tensor = is_a(value, torch.Tensor)
        if not is_tensor and is_a(value, _KNOWN):
            self.training.know(value, self.locations[place].line)
        if not self.recording:
            if is_tensor:
                old = self.assigned.get(place)
                if old is None or old[1] is not value:
                    self.unrecorded_visits[place] += 1
            elif type(value) is list:
                self.note_length(place, value)
            self.assigned[place] = (name, value, self.line)
            return
        if _is_traced():
            return
        if is_a(value, _HOLDERS) or type(value).__dictoffset__:
            try:
                with quiet():
                    self._bind_recorded(place, name, value)
            except Exception:  # of an object that nobody thought of: no error of the program
                _LOG.exception("a value could not be recorded")
        if self.history.active:
            location = self.locations[place]
            self.history.note_assignment(location.line, location.text, name, value)
        if self.events.running_hook is not None:
            self.events.running_hook.note_assignment(name, value)

    def _bind_recorded(self, place: int, name: str, value: Any) -> None:
        self.look_at_line(place)
        location = self.locations[place]
        if is_a(value, torch.Tensor) and self.find(value) is None:
            self.find_cuts_in_statement(value, location)
        self.bind_value(place, name, value)
        visit = self.run_counts[self.line]
        self.bindings.give(name, value, location.line, visit, location.scope)

    def call(
        self, what: str, receiver: Any, function: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Any:
        """The program calls a watched function of torch: make the call, and log it."""
        self.line = self.running_line()
        if what in self.handlers:
            return self.handlers[what](receiver, function, *args, **kwargs)
        self.resume()  # an iteration that registers a hook is recorded
        if ".register_" in what:
            return self.hooks.register(what, receiver, function, *args, **kwargs)
        if what == "Tensor.retain_grad":
            self.events.retain_grad_lines.append(self.line)
        return function(*args, **kwargs)

    def run_backward(self, call: BackwardCall, engine: Callable[[], Any]) -> Any:
        """Record a pass from these roots: in place of a gradient edge, from the tensor whose
        gradient arrives there."""
        self.line = self.running_line()
        found = [self._tensor_at(t) if isinstance(t, GradientEdge) else t for t in call.roots]
        tensors = [t for t in found if isinstance(t, torch.Tensor)]
        if not tensors or len(tensors) < len(found):
            return engine()
        returns = call.what == "torch.autograd.grad"
        if returns:
            self.gradients.ask(call.inputs)
        refused = next((t for t in tensors if not t.requires_grad), None)
        if refused is not None:
            self.resume()
            self.refused_backward = RefusedBackward(self.line, refused)
            return engine()
        result = self.backward(call.what, tensors, engine)
        if returns:
            self.note_plain_gradients(tensors[0], result, call.keeps_graph)
        return result

    def note_plain_gradients(self, root: torch.Tensor, gradients: Any, is_recorded: bool) -> None:
        """Note that what torch.autograd.grad returned has no history."""
        with quiet():
            cause = "without_graph" if is_recorded else "grad"
            cut = Cut(self.line, cause, "grad", root, self.name_of(root))
            for gradient in gradients if isinstance(gradients, tuple) else ():
                if isinstance(gradient, torch.Tensor) and not gradient.requires_grad:
                    self.history.add_cuts(gradient, (cut,), self.line, "grad")

    # -- passes -----------------------------------------------------------------------------

    def _tensor_at(self, edge: GradientEdge) -> torch.Tensor | None:
        """The recorded tensor whose gradient arrives at this edge."""
        self.resume()
        leaf = leaf_of(edge.node)
        if leaf is not None:
            return leaf
        records = self.by_output.get((id(edge.node), edge.output_nr))
        return records[-1].tensor if records else None

    def backward(
        self,
        what: str,
        roots: list[torch.Tensor],
        run: Callable[[], Any],
        ours: bool = False,
    ) -> Any:
        """Run a backward call and record the pass; the first three passes and the last are kept.

        Backward walks the graph from the roots to the leaves. To see each gradient, the graph has
        to be known before: torch frees what the nodes have saved as it goes. Hooks on the nodes
        then receive the gradients one after the other. What the pass has added to the `.grad` of
        the leaves is the difference to what was there before.
        """
        self._check_depth()
        self.pass_count += 1
        number = self.pass_count  # a hook may begin another pass, which counts too
        with quiet():
            # The curve of the loss has no gaps: it follows all passes, recorded or not.
            self.curves.add_loss(number, roots)
        if self._needs_record(roots):
            result = self._run_recorded(what, roots, run, ours)
        else:
            result = self._run_unrecorded(what, roots, run)
        with quiet():
            if self.curves.wants_norms(number):
                self.curves.add_norms(number, self.named_leaves().items())
        return result

    def _run_recorded(
        self, what: str, roots: list[torch.Tensor], run: Callable[[], Any], ours: bool
    ) -> Any:
        """Record the graph, the leaves before, each gradient, and what became of the leaves."""
        # Names that were given while nothing was recorded come first: the graph is drawn with them.
        self.resume()
        call_line = self.line
        with quiet():
            line = None if ours else call_line
            # Before the pass: afterwards, what the nodes have saved is freed. A loop draws the same
            # graph again and again, so the drawing of an earlier pass may serve.
            earlier = self.recorded_passes
            raw = passes.start_pass(
                self.pass_count, line, what, roots, self.named_leaves(), earlier
            )
            raw.ours = ours
            passes.mark_nodes(raw)
            self.pass_lines.append((self.pass_count, line))
            self.awaits_gradient = False
            self.find_lines(raw.functions)
            self.leaves_of_pass = leaves = leaves_of(raw.functions)
            # The leaves are shown with the pass, even in an iteration that otherwise is not.
            is_between, self.is_between = self.is_between, False
            raw.leaves = {id(leaf): self.refresh(leaf) for leaf in leaves}
            self.is_between = is_between
            # Backward adds to `.grad`: only with what was there before can be said how much.
            before = [LeafBefore.from_leaf(leaf) for leaf in leaves]
        if len(self.first_passes) < limits.FIRST_VISITS:
            self.first_passes.append(raw)
        else:
            self.last_pass = raw
            if raw.number == self.iteration:
                self.chosen_pass = raw
        with self._inside_pass():
            try:
                result = raw.run_with_hooks(run)
            finally:  # of a pass that fails, too: how far the gradients came explains the failure
                with quiet():
                    self.assign_gradients(raw)
        with quiet():
            self.log_pass(raw, before)
        return result

    def _run_unrecorded(self, what: str, roots: list[torch.Tensor], run: Callable[[], Any]) -> Any:
        """Run a backward call that a later iteration will repeat: only its event may be needed."""
        if self.only_counts:
            with quiet():
                root = self.unrecorded_name(roots[0])
            with self._inside_pass():
                result = run()
            self.log_backward(what, root, [])
            return result
        with quiet():
            leaves = leaves_of(walk_graph(roots))
            if not all(map(self.name_of, leaves)):
                self.resume()  # some got their names while nothing was recorded
            before = [LeafBefore.from_leaf(leaf) for leaf in leaves]
            root = self.unrecorded_name(roots[0])
        with self._inside_pass():
            result = run()
        with quiet():
            for earlier in before if what != "torch.autograd.grad" else ():
                leaf = earlier.leaf
                if leaf.grad is not None and not earlier.had_gradient:
                    self.add_descent(earlier, capture_values(leaf.grad))
            self.log_backward(what, root, before)
        return result

    def _check_depth(self) -> None:
        if self.depth == limits.MOST_NESTED_PASSES:
            raise LimitError(
                f"More than {limits.MOST_NESTED_PASSES} calls of backward are nested inside each "
                "other.",
                "Let the hook or custom backward return before you call backward again.",
            )

    def _run_nested(
        self, _: Any, function: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Any:
        """A checkpoint runs a backward pass of its own inside another."""
        self._check_depth()
        self.depth += 1
        try:
            return function(*args, **kwargs)
        finally:
            self.depth -= 1

    @contextmanager
    def _inside_pass(self) -> Iterator[None]:
        """While autograd walks the graph, which may run hooks and functions of the program."""
        call_line = self.line
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
            self.line = call_line  # hooks and custom backwards ran other lines
            if self.recording and not self.depth:
                self.operations.start()
        self.check_time()

    def _needs_record(self, roots: list[torch.Tensor]) -> bool:
        """Whether this pass is one of the first or the chosen one, or a record is to be made of
        what it does to a leaf or a tensor."""
        is_small = self.number < MANY_RECORDS
        if self.recording or (is_small and len(self.first_passes) < limits.FIRST_VISITS):
            return True
        if self.pass_count == self.iteration or self.awaits_gradient:
            return True
        with quiet():
            return self._adds(self.leaves_of_pass) and self._adds(leaves_of(walk_graph(roots)))

    def _adds(self, leaves: list[torch.Tensor]) -> bool:
        """Whether a pass that reaches these leaves adds to a gradient, for the first few times."""
        return len(self.accumulations) < limits.MOST_ADDED and any(map(has_gradient, leaves))

    def assign_gradients(self, raw: RawPass) -> None:
        """Store each gradient that the hooks captured in the record of its tensor."""
        for step in raw.steps:
            node = raw.functions[step.function]
            for output_nr, grad in enumerate(step.grads_in):
                for live in self.by_output.get((id(node), output_nr), ()):
                    if grad is not None:
                        live.grad = grad

    def log_pass(self, raw: RawPass, before: list[LeafBefore]) -> None:
        """Log what a finished pass added to each `.grad`, and the value of each small leaf."""
        # What a leaf's AccumulateGrad node received is the gradient of this pass alone.
        gradients = {
            id(leaf): step.grads_in[0]
            for step in raw.steps
            if (leaf := leaf_of(raw.functions[step.function])) is not None
        }
        for earlier in before:
            leaf = earlier.leaf
            slope = gradients.get(id(leaf))
            if slope is None:  # the pass did not reach it
                continue
            self.add_descent(earlier, slope)
            if raw.call == "torch.autograd.grad" or leaf.grad is None:  # not in `.grad`
                continue
            self.gradients.fill(leaf, raw.line or 0, had_gradient=earlier.had_gradient)
            if earlier.had_gradient and len(self.accumulations) < limits.MOST_ADDED:
                new = take_snapshot(leaf.grad)
                self.accumulations.append(
                    Accumulation(raw.line, raw.number, leaf, earlier.grad, new)
                )
        self.scaling.log_pass(raw)
        self.log_backward(raw.call, self.name_of(raw.roots[0]) if raw.roots else "", before)

    def log_backward(self, call: str, root: str, before: list[LeafBefore]) -> None:
        """Log the event of a finished pass: what it added to each `.grad`."""
        changes = []
        for earlier in before:
            leaf = earlier.leaf
            if call != "torch.autograd.grad" and leaf.grad is not None:
                new = take_snapshot(leaf.grad)
                changes.append(make_change(f"{self.name_of(leaf)}.grad", earlier.grad, new))
        self.add_event("backward", f"{call} from {root or 'an output'}", root, changes)

    def add_descent(self, before: LeafBefore, slope: CapturedValues) -> None:
        """Record the value of a leaf, if it is small, and its gradient at that value."""
        leaf, value = before.leaf, before.value
        if not isinstance(value, CapturedValues) or leaf.numel() > limits.MOST_DESCENT_ELEMENTS:
            return
        descent = self.descents.get(id(leaf))
        if descent is None and len(self.descents) < limits.MOST_DESCENT_LEAVES:
            descent = self.descents[id(leaf)] = (leaf, deque(maxlen=limits.MOST_DESCENT_VALUES))
        if descent is not None:
            descent[1].append((value, slope))


def _is_unshown(value: Any) -> bool:
    """Whether this is a part of a figure, or of a library's own use, such as argparse's actions."""
    kind = type(value)
    return kind.__name__[:1] == "_" or kind.__module__.startswith("matplotlib.")
