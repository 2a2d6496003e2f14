"""What a run does, as the recorder sees it: tensors, calls, events and passes, as live objects.

`recorder` is a `Watcher` that starts all else. What it is made of, from below: `tensor_registry`
keeps the tensors, `run_log` all that is observed besides them (`events`, `bindings` of names,
`cuts` from the graph, `function_calls`, `gradients`), and `iterations` decides which iterations of
a loop are recorded. `operations` sees every operation of torch; `hooks`, `training_calls`,
`scaling` and `repetitions` make the calls that `program.watched_calls` reports. A pass is recorded
by `passes`, drawn by `torchviz_graph`, and made plain by `pass_graph`; values are copied by
`capture`. `objects` reads what belongs to the program without running its code.
"""
