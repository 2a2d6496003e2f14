import json

import numpy as np

from explorer.trace import Edge, Flow, Trace, from_plain, to_plain
from explorer.trace.records import BackwardPass, BackwardStep, TensorRecord


def test_trace_survives_json_with_nan_and_arrays():
    value = np.array([[1.0, np.nan], [np.inf, -0.0]], dtype=np.float32)
    record = TensorRecord(0, "x", 1, (2, 2), "float32", True, True, False, None, value)
    step = BackwardStep("n0", "MulBackward0", (value,), (Flow("n1", 0, None),), saved={"k": 2})
    run = BackwardPass(1, 2, "backward", "z", (), (Edge("a", "b"),), "digraph {}", (step,))
    trace = Trace("x = 1", variables={"x": record, "n": [1, "a"]}, passes=(run,), pass_count=1)
    text = json.dumps(to_plain(trace))
    back = from_plain(Trace, json.loads(text))
    assert json.dumps(to_plain(back)) == text
    assert isinstance(back.passes[0].steps[0], BackwardStep)
    got = back.variables["x"]
    assert isinstance(got, TensorRecord)
    assert got.shape == (2, 2)
    np.testing.assert_array_equal(got.value, value)
