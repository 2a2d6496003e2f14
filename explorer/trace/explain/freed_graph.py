"""A backward call that failed because an earlier one has freed its graph, and what to say of it.

Asked at https://github.com/MorvanZhou/PyTorch-Tutorial/issues/57
"""

from __future__ import annotations

from dataclasses import dataclass

from explorer.program.draft import called_name
from explorer.trace.explain.earlier_graph import EarlierGraph
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.recording.passes import RawStep
from explorer.trace.recording.torchviz_graph import leaves_of
from explorer.trace.records import Answer, Symptom

#: Gradients of a cured program that its sentence shows: more are not read.
MOST_GRADIENTS = 2


@dataclass(frozen=True)
class FreedGraph:
    """The pass `earlier.later` has failed at `step`.

    `because` says why it cannot go through the earlier graph, if not because that was freed.
    """

    analysis: RunAnalysis
    earlier: EarlierGraph
    step: RawStep
    because: str = ""

    @property
    def line(self) -> int | None:
        """The line of the call that failed."""
        return self.earlier.later.line

    @property
    def root(self) -> str:
        """The name of what the failed call started from."""
        return self.analysis.name_of(self.earlier.later.roots[0])

    @property
    def call(self) -> str:
        """The call that failed."""
        return self.earlier.later.call.replace("Tensor.", "")

    def is_updated(self) -> bool:
        """Whether a leaf behind the earlier graph has been changed in place since it was made."""
        leaves = {leaf.untyped_storage().data_ptr() for leaf in self.earlier.leaves_behind()}
        records = [self.earlier.result(entry) for entry in self.earlier.entries]
        root = self.analysis.recorder.find(self.earlier.later.roots[0])
        orders = [r.number for r in (records or [root]) if r is not None]
        since = min(orders, default=0)
        writes = self.analysis.recorder.history.writes
        return any(write.storage in leaves and write.order >= since for write in writes)

    def retained(self, text: str, names: tuple[str, ...]) -> list[Answer]:
        """retain_graph=True on the earlier call, where nothing has changed between the two; or
        create_graph=True, where the later one needs the gradient that it gave."""
        draft, line = self.analysis.draft(), self.earlier.line
        calls = [draft.call(line, name) for name in ("backward", "grad")]
        call = next((call for call in calls if call is not None), None)
        if call is None or self.is_updated():
            return []
        cuts = [cut for cut in self.analysis.cuts if cut.line == line and cut.cause == "grad"]
        option = "create_graph" if cuts and called_name(call) == "grad" else "retain_graph"
        why = (
            f"{self.root} is computed from its result, which needs a graph of its own."
            if option == "create_graph"
            else "Here that is right: nothing in the graph has changed in between."
        )
        given = [keyword for keyword in call.keywords if keyword.arg == "retain_graph"]
        if given:
            draft.replace(given[0], f"{option}=True")
        else:
            comma = ", " if call.args or call.keywords else ""
            start = draft.of(call)[:-1].rstrip().rstrip(",")
            draft.replace(call, f"{start}{comma}{option}=True)")
        return [
            self.answer(
                "backward.twice",
                text,
                f"Call {called_name(call)} on line {line} with {option}=True. {why}",
                names,
                draft.changed(),
            )
        ]

    def answer(
        self, key: str, text: str, cure: str, names: tuple[str, ...], fix: str | None
    ) -> Answer:
        """An answer to the question why the call fails."""
        lines = self.analysis.recorder.events.retain_grad_lines
        if lines and key == "backward.twice":
            cure += (
                f" retain_grad (line {lines[0]}) does something else: it keeps the gradient of a "
                "tensor, while retain_graph keeps the graph."
            )
        leaves = sorted(leaves_of(self.earlier.later.functions), key=lambda leaf: leaf.numel())
        return Answer(
            key=key,
            title=f"Why does {self.call} on line {self.line} fail?",
            text=text,
            cure=cure,
            line=self.line,
            names=names,
            glossary="retain_graph",
            fix=fix,
            symptom=Symptom("error", tuple(map(self.analysis.name_of, leaves[:MOST_GRADIENTS]))),
        )
