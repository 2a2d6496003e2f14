"""The app, with hostile text in every answer of its sandbox: `python -m tests.browser.forged_app`
takes the place of `python -m streamlit`.

A child can answer anything that has the right types.
"""

from __future__ import annotations

from typing import Any

from streamlit.web import cli

from explorer.sandbox import client
from tests.plain_app import leave_out_the_self_test

#: A host that must never be asked for anything.
CANARY = "http://canary.invalid"
HTML = (
    "\"'></textarea></script></style></title></pre></code></table></svg></button>"
    f'<img src="{CANARY}/a.png" class="forged" onerror="window.ran = 1">'
    '<script>window.ran = 2</script><svg onload="window.ran = 3"><text>t</text></svg>'
    '<iframe srcdoc="<script>parent.ran = 4</script>"></iframe>'
    f'<a href="{CANARY}" class="forged">a</a><style>body {{ display: none }}</style>'
)
MARKDOWN = (
    f"![i]({CANARY}/b.png) [l]({CANARY}/c) [j](javascript:window.ran=5) {CANARY}/d <{CANARY}/e> "
    "**forged** :material/bug_report: :red[forged] $forged$ \x1b[31m \u202e"
)
#: Ends a formula, and what LaTeX itself offers.
LATEX = (
    f"\n$$\n{MARKDOWN}\n\n$$\n\\href{{javascript:window.ran=6}}{{h}} \\url{{{CANARY}/f}} "
    f"\\includegraphics{{{CANARY}/g.png}} \\htmlClass{{forged}}{{x}} \\htmlData{{onload=ran}}{{x}}"
)
TEXT = f" {HTML} {MARKDOWN} {LATEX}"
#: What Graphviz offers. Its own program does not know the layout engine, so the browser draws it.
DOT = (
    f'digraph {{ graph [URL="{CANARY}/h" tooltip="{CANARY}" stylesheet="{CANARY}/i.css"]\n'
    f'a [URL="javascript:window.ran=7" image="{CANARY}/j.png" class="forged"]\n'
    f'b [label=<<TABLE HREF="{CANARY}/k"><TR><TD><IMG SRC="{CANARY}/l.png"/></TD></TR></TABLE>>]\n'
    f'a -> b [edgehref="{CANARY}/m" label="<script>window.ran = 8</script>"] }}'
)
#: Decide what is drawn, so they stay as they are; ids do only if the program does not ask for more.
KEPT = {"$", "dtype", "data", "kind", "graph", "capture", "glossary", "term", "grad_from"}
IDS = {"id", "source", "target", "to", "node"}


def forge(answer: Any, kept: set[str]) -> Any:
    """The answer with hostile text after each of its texts."""
    if isinstance(answer, str):
        return answer + TEXT
    if isinstance(answer, list):
        return [forge(item, kept) for item in answer]
    if isinstance(answer, dict):
        forged = {key: v if key in kept else forge(v, kept) for key, v in answer.items()}
        return forged | ({"dot": DOT} if answer.get("dot") else {})
    return answer


def plain_answer(call: client.Call[Any]) -> Any:
    answer = honest(call)
    kept = KEPT if b"forged ids" in call._body else KEPT | IDS
    if (
        call._header["job"] == "replay"
    ):  # the rest of it is not shown, and these have to be those asked for
        shown = {key: answer[key] for key in ("view", "event", "script")}
        return answer | forge(shown, kept | {"optimizer", "name", "scheduler", "clip"})
    return forge(answer, kept)


honest = client.Call._plain_answer

if __name__ == "__main__":
    client.Call._plain_answer = plain_answer  # type: ignore[method-assign]
    leave_out_the_self_test()
    cli.main()
