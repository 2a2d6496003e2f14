"""What draws without Streamlit: plain results in, HTML, SVG and JavaScript out.

A page, a notebook and a file show the same picture, as each of them only mounts what is made here.
A `component.Component` is markup, style and a script for the browser: `graph`, `table` and `plot`
have one each, and say what is to be drawn as plain `data`. `drawn_pass` makes the graph of a
backward pass, `fold` the blocks of a large one, `walk` what a step of it shows there, `step` what
it says; `tensors`, `events`, `answers`, `fix` and `errors` write the rest of a run as markup;
`report` is a whole Trace in one piece. `glossary` has the markup that all of them are made of.
"""
