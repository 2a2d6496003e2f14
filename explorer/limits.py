"""Every limit of size, number and time that protects a reader, the machine or the picture, with
its reason. What a server's operator may set is in `explorer.sandbox.options`.
"""

# --- program: what is read of a text, and kept of its run ---

# --- trace: what is recorded, explained and tried ---

# --- training: presses, runs and surfaces ---

# --- networks: models, inspections and graphs ---

# --- vision: images, weights and maps ---

# --- sandbox: children, messages and the queue ---

# --- pages: what a page holds, shows and asks for ---

#: What a browser gives back to another server after a loss, which may be anything: values, the
#: characters of one and of a page's query.
MOST_KEPT, MOST_KEPT_CHARACTERS, MOST_QUERY_CHARACTERS = 20, 200_000, 100_000
#: Losses of a file that are counted: the size of an upload grows by one megabyte with each.
MOST_LOSSES = 9
#: Seconds that a page may take before its server is ready: the first waits for the sandbox.
FIRST_RUN_SECONDS = 60.0
#: Seconds a large graph may take to be laid out, and a small one in the process that stays; a graph
#: waits for the one before it there for a moment only, then it gets a process of its own.
DOT_SECONDS, DOT_SMALL_SECONDS, DOT_PATIENCE = 8.0, 1.0, 0.2
#: Bytes of memory of a `dot` process: a graph of 300 nodes takes less than half of it, one of many
#: long edges 3 GB.
DOT_MEMORY = 512 * 2**20
#: Characters of a graph for the process that stays: with the empty graph after it, it fits into a
#: pipe. The layout of a larger one takes so long that a process of its own costs little more.
DOT_SMALL = 32_000
#: Graphs after which that process is replaced, whatever it may have kept of them.
DOT_GRAPHS = 2000
#: Pixels of a downloaded picture of a graph: each takes 4 bytes.
PICTURE_PIXELS = 40_000_000
#: Rows of a table, points of a line and cells along a side of a heat map: more are not seen.
TABLE_ROWS, LINE_POINTS, HEATMAP_CELLS = 200, 600, 64
#: Answers that are seen before the line is opened that counts the others.
ANSWERS_SEEN = 3
#: Sentences about other lines of an error.
ERROR_ALSO = 11
#: Lines of a change that are compared one by one and that are shown, characters of one, and lines
#: that the editor marks: the program may be a stranger's.
CHANGE_COMPARED, CHANGE_LINES, CHANGE_CHARACTERS, CHANGE_MARKS = 400, 8, 160, 200
#: Of a Trace in a notebook: rows, printed characters, lines of a change.
REPORT_ROWS, REPORT_PRINTED, REPORT_CHANGE_LINES = 50, 4000, 12
#: Printed characters on the page, and of one part between two figures.
PRINTED, PRINTED_PART = 8000, 600
#: Seconds to write a figure anew, and bytes of figures that are kept for all readers.
FIGURE_SECONDS, FIGURES_KEPT = 15.0, 64 * 2**20
#: Bytes kept for all readers: laid out graphs, graphs of passes, samples of curves, contours.
SVG_KEPT, PASSES_KEPT, SAMPLES_KEPT, CONTOURS_KEPT = 16 * 2**20, 32 * 2**20, 8 * 2**20, 8 * 2**20
#: Seconds that a program which is being typed may run, and one on the home page, where a first run
#: on a busy machine takes more; that its result is sampled, and that it is checked unasked.
TYPED_SECONDS, HOME_SECONDS, SAMPLE_SECONDS, UNASKED_CHECK_SECONDS = 1.0, 5.0, 4.0, 2.0
#: Characters of a program in a link, encoded: a server answers a longer address with an error (here
#: from about 130,000 on; a proxy from fewer).
LINK_PROGRAM = 60_000
#: Characters of an input in a link, and numbers of an input that have a field of their own.
LINK_INPUT, INPUT_FIELDS = 20_000, 64
#: Bytes of an opened file: outputs with pictures make a notebook large, its code is small.
OPENED_FILE = 50_000_000
#: Characters of a lesson's title, question and tensor in a link, and of a prediction; numbers that
#: a reader is asked to predict.
LESSON_TITLE, LESSON_QUESTION, LESSON_TARGET, PREDICTION, PREDICTED_NUMBERS = 80, 300, 60, 400, 16
