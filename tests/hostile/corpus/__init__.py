"""Programs that mean harm, in groups. Each text is one program.

`{file}` is a file that must not be touched, `{name}` an environment variable with a secret and
`{port}` a listener on this machine; they are filled in by the test. They may run, as long as they
change nothing and tell nothing.
"""

from tests.hostile.corpus import (
    accepted,
    arrivals,
    everyday,
    figures,
    recording,
    surface,
    syntax,
    training,
)
from tests.hostile.corpus.holes import EXCHANGED, HARMLESS, REFUSED, STOPPED
from tests.hostile.corpus.layouts import CAPTURED, LAYOUTS, RESIZED
from tests.hostile.corpus.libraries import STATE, TORCH
from tests.hostile.corpus.native import CRASHES, NESTED
from tests.hostile.corpus.python import PYTHON
from tests.hostile.corpus.reading import ARRIVING, CLOSED
from tests.hostile.corpus.reentrant import REENTRANT
from tests.hostile.corpus.resources import DISPLAY, MEMORY, PARSER, PRINTED, TIME

GROUPS: dict[str, list[str]] = {
    "python": PYTHON,
    "torch": TORCH,
    "state": STATE + training.STATE,
    "memory": MEMORY,
    "time": TIME + surface.ENDLESS + everyday.TIME,
    "parser": PARSER,
    "display": DISPLAY,
    "crashes": CRASHES,
    "nested": NESTED,
    "reentrant": REENTRANT,
    "harmless": HARMLESS
    + arrivals.HARMLESS
    + figures.HARMLESS
    + recording.HARMLESS
    + PRINTED
    + accepted.HARMLESS
    + surface.HARMLESS
    + syntax.HARMLESS
    + training.HARMLESS
    + everyday.HARMLESS,
    "refused": REFUSED
    + arrivals.REFUSED
    + figures.REFUSED
    + recording.REFUSED
    + accepted.REFUSED
    + surface.REFUSED
    + syntax.REFUSED
    + training.REFUSED
    + everyday.REFUSED,
    "exchanged": [*EXCHANGED, *RESIZED, *CAPTURED],
    "layouts": LAYOUTS,
    "stopped": STOPPED
    + arrivals.STOPPED
    + recording.STOPPED
    + accepted.STOPPED
    + syntax.STOPPED
    + everyday.STOPPED,
    "closed": CLOSED,
    "arriving": ARRIVING,
}
#: Has to run, and to give the same, whatever ran before it.
GOOD = """\
import torch
x = torch.tensor([[1.0, 2.0]], requires_grad=True)
y = x + 2
z = 3 * y**2
out = z.mean()
out.backward()
r = torch.rand(2)
print(out, torch.is_grad_enabled(), torch.nn.functional.relu(torch.tensor(-1.0)), r.shape)
"""
