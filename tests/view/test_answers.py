"""What is said of how a program was understood."""

import re

from explorer.trace import Trace
from explorer.view.answers import notices_html


def test_few_sentences_stand_in_one_line() -> None:
    trace = Trace("x", completed="x", notices=("`x` became <b>.", "Nothing was saved."))
    assert notices_html(trace) == (
        '<div class="ax-note ax-notices"><code>x</code> became &lt;b&gt; · Nothing was saved</div>'
    )


def test_many_sentences_are_counted_and_listed() -> None:
    trace = Trace("x", completed="import torch\nx", notices=tuple("abcd"))
    html = notices_html(trace)
    assert "<summary>1 line was added · a · 3 more</summary>" in html
    assert re.findall("<li>(.*?)</li>", html) == ["1 line was added.", "a.", "b.", "c.", "d."]
    assert '<pre class="ax-printed">import torch\nx</pre>' in html
