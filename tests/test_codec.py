import json
from typing import Any

import numpy as np
import pytest

from explorer.trace import Edge, Flow, Trace, from_plain, to_plain
from explorer.trace.records import BackwardPass, BackwardStep, TensorRecord

pytestmark = pytest.mark.fast


def test_trace_survives_json_with_nan_and_arrays():
    value = np.array([[1.0, np.nan], [np.inf, -0.0]], dtype=np.float32)
    record = TensorRecord(0, "x", 1, (2, 2), "float32", True, True, value)
    step = BackwardStep("n0", "MulBackward0", (value,), (Flow("n1", 0, None),), saved={"k": 2})
    run = BackwardPass(1, 2, "backward", "z", (), (Edge("a", "b"),), "digraph {}", (step,))
    trace = Trace("x = 1", variables={"x": record, "n": [1, "a"]}, passes=(run,), pass_count=1)
    text = json.dumps(to_plain(trace))
    back = from_plain(Trace, json.loads(text))
    assert json.dumps(to_plain(back)) == text
    assert isinstance(back.passes[0].steps[0], BackwardStep)
    restored = back.variables["x"]
    assert isinstance(restored, TensorRecord)
    assert restored.shape == (2, 2)
    np.testing.assert_array_equal(restored.value, value)


def test_lone_surrogates_become_question_marks():
    surrogate = "\ud800"
    plain = to_plain(
        Trace("x", variables={surrogate: surrogate, "fine": "λ😀"}, notes=(surrogate,))
    )
    assert json.dumps(plain, ensure_ascii=False).encode()
    assert plain["variables"] == {"?": "?", "fine": "λ😀"}
    back = from_plain(
        Trace, {"$": "Trace", "source": surrogate, "variables": {surrogate: [surrogate]}}
    )
    assert (back.source, back.variables) == ("?", {"?": ["?"]})


#: Answers that no honest child would send.
WRONG: list[Any] = [
    5,
    None,
    "Trace",
    [],
    {},
    {"$": "Trace"},
    {"$": "Edge", "source": "a", "target": "b"},
    {"$": "Trace", "source": 5},
    {"$": "Trace", "source": "x", "error": "no error"},
    {"$": "Trace", "source": "x", "output": None},
    {"$": "Trace", "source": "x", "variables": []},
    {"$": "Trace", "source": "x", "tensors": {"a": 1}},
    {"$": "Trace", "source": "x", "tensors": ["a"]},
    {"$": "Trace", "source": "x", "pass_count": 1.5},
    {"$": "Trace", "source": "x", "more": 1},
    {"$": "Trace", "source": {"$": "array", "dtype": "<f4", "shape": [0], "data": ""}},
]


@pytest.mark.parametrize("plain", WRONG, ids=repr)
def test_an_answer_with_wrong_types_is_refused(plain):
    with pytest.raises((TypeError, ValueError, KeyError)):
        from_plain(Trace, plain)


@pytest.mark.parametrize("value", [None, 1, "a", [1, [2]], {"a": [None]}])
def test_any_accepts_everything(value):
    assert from_plain(Any, value) == value


def test_an_integer_is_accepted_as_a_float():
    flow = from_plain(Flow, {"$": "Flow", "to": None, "slot": 1, "grad": None})
    assert flow == Flow(None, 1, None)
