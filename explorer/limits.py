"""Every limit of size, number and time that protects a reader, the machine or the picture, with
its reason. What a server's operator may set is in `explorer.sandbox.options`. Not here, but with
their code, are the thresholds of an explanation, how many names its sentences list, and which
iterations of a loop are recorded (`trace/recording/iterations.py`).
"""

# --- program: what is read of a text, and kept of its run ---

#: Characters of a program: parsing 1 MB takes seconds and hundreds of MB.
MAX_SOURCE = 150_000
#: Nodes of its tree.
MAX_TREE = 120_000
#: Characters in which inputs and notations are looked for: longer texts are whole programs, which
#: lack imports at most, and the rest takes longer than parsing, and grows faster.
MAX_COMPLETED = 10_000
#: Characters of a text in which explanations look for statements, and which they change.
MAX_DRAFT = 60_000
#: Characters of a line that is read as a formula; of longer ones, only the symbols are.
MAX_FORMULA = 1000
#: How often a text that is not Python is cut shorter, to find its beginning that is.
MOST_CUTS_SHORTER = 20
#: Free names of a program that get a value.
MOST_INPUTS = 64
#: Numbers of one input.
MOST_INPUT_ELEMENTS = 4096
#: Elements of a vector that an index asks for, where nobody gives values.
MAX_VECTOR = 64
#: Characters of what was printed that are kept: so many of the beginning, the rest of the end.
MAX_OUTPUT = 50_000
MAX_BEGINNING = 40_000
#: Sentences about what was done in place of what a program asked for.
MOST_NOTICES = 40
#: Lines that one of them names.
MOST_NOTICE_LINES = 5
#: Characters of the name of a stand-in for what is missing, and of the text of an expression, which
#: every location keeps.
MAX_STAND_IN, MAX_EXPRESSION = 100, 120
#: Figures of a run, bytes of all of them, and pixels of one.
MOST_FIGURES = 40
MOST_FIGURE_BYTES = 6 * 2**20
MOST_FIGURE_PIXELS = 4_000_000
#: Panels that the description of a figure names, and characters of each: it is read aloud.
MOST_PANELS, MAX_PANEL_TEXT = 6, 80
#: Characters of a message of torch's that is shown as it is.
MAX_MESSAGE = 300
#: Frames of an exception that are read: one that is raised again and again has many.
MOST_ERROR_FRAMES = 2000
#: Causes of an exception that are looked at.
MOST_CAUSES = 10
#: Tensors that a sentence about an error names, and characters of such a name.
MOST_OPERANDS = 3
MAX_OPERAND_NAME = 40
#: Bytes kept while a program runs, for the description of its error and for its Trace: so much is
#: returned to the system at once when it is freed.
RUN_RESERVE = 48 * 2**20

# --- trace: what is recorded, explained and tried ---

#: Elements of a tensor that is stored whole; a larger one is a Summary.
WHOLE = 4096
#: Of the visits to one position in the program, this many first ones are kept, and the last.
FIRST_VISITS = 3
#: Parameters of a module that get a name.
MAX_PARAMETERS = 200
#: The same where code is recorded in place: one step of a network, not thousands.
MOST_OWN_PARAMETERS = 2000
#: So many steps of an optimizer are recorded of code that goes on, and so many tensors.
RECORDED_STEPS, MOST_RECORDED = 3, 20_000
#: Items read from one list or object of the program.
MOST_ITEMS = 20
#: Characters of the name of a tensor or module: a program may use keys of any length.
MAX_NAME = 200
#: Dimensions of a shape: as many as numpy can have.
MOST_DIMENSIONS = 64
#: Names whose meanings are followed, and modules in which they are looked for at once.
MOST_NAMES = 2000
MOST_NAMED_MODULES = 200
#: Objects inside each other that the text of a name goes through.
MAX_NAME_DEPTH = 20
#: Elements of a tensor that is copied; a larger one is summarised at once.
MOST_COPIED = 1 << 20
#: Values without history stored for each function on each line; older ones are discarded.
MOST_CUT_VALUES = 8
#: Writes stored in all, and cuts stored for one value.
MOST_WRITES = 300
MOST_CUTS = 40
#: Calls that made tensors of the plain values behind one cut.
MOST_REBUILT = 8
#: Of the events, the first ones and the last ones that are kept.
FIRST_EVENTS = 200
LAST_EVENTS = 100
#: Observations of one kind that are kept of one object.
MOST_OBSERVATIONS = 20
#: Tensors kept alive because their gradient was read while it was None.
MOST_READ = 30
#: Elements of a tensor whose values an event records, and tensors in one event.
MOST_EVENT_ELEMENTS = 64
MOST_CHANGES = 20
#: Of the calls of a function on one line by a module, the first and the latest that are kept.
FIRST_CALLS = 3
LAST_CALLS = 3
#: Lines and modules whose calls are kept.
MOST_PLACES = 200
#: Elements of a tensor that is kept as an argument; of a larger one, the shape is.
MOST_ARGUMENT_ELEMENTS = 10_000
#: Frames of the stack that are looked at.
MOST_STACK_FRAMES = 300
#: Leaves whose gradients are followed, and lines that clip them.
MOST_GRADIENT_LEAVES = 400
MOST_CLIPPING_LINES = 40
#: How often a line that clips is looked at.
MOST_CLIPPED = 30
#: Values kept of each loss and each norm, and leaves whose norms are followed.
MOST_LOSSES = 8192
MOST_NORMS = 512
MOST_CURVES = 20
#: Statements and records of a program that is run again for the last iterations of its loops.
MOST_RERUN_STATEMENTS = 5000
#: Seconds that a program without a deadline may take that runs twice: nobody waits for minutes
#: twice.
MOST_RERUN_SECONDS = 60
#: Seconds that a program may go on that is stopped in the middle of a loop.
MOST_EXTRA = 0.3
#: Statements without a record that are remembered, to tell from which one a node is.
MOST_MARKS = 50_000
#: Running calls whose lines are recorded with a cut.
MOST_CALLERS = 10
#: Results of operations recorded of one statement, and of one operation such as torch.split.
MOST_OPERATIONS = 1000
MOST_RESULTS = 20
#: Optimizers and schedulers that are known.
MOST_KNOWN = 100
#: Losses that a GradScaler has scaled whose nodes are remembered.
MOST_SCALED = 100
#: Elements of a leaf whose values are followed from pass to pass, such leaves, and their latest
#: values.
MOST_DESCENT_ELEMENTS = 16
MOST_DESCENT_LEAVES = 40
MOST_DESCENT_VALUES = 6
#: Backward calls nested in hooks and custom backwards: from about 60 on, torch continues in other
#: threads, which do not exist in a forked child.
MOST_NESTED_PASSES = 20
#: Values of bare expressions that are kept, and characters of one.
MOST_ECHOES = 100
MAX_ECHO = 2000
#: Passes whose lines are kept.
MOST_PASS_LINES = 60
#: Accumulated gradients that are recorded.
MOST_ADDED = 12
#: Numbers of a gradient to start from.
MOST_STARTS = 100_000
#: Of the steps of a longer pass, the first and the last that are kept.
FIRST_STEPS = 1000
LAST_STEPS = 1000
#: Nodes of all passes that are shown together, unless two are larger; of a larger pass, only those
#: of the steps that are kept.
MOST_PASS_NODES = 8000
#: Inputs and outputs of an operation whose gradients, and numbers that it saved, are kept:
#: torch.cat and torch.split may have any number.
MOST_FLOWS = 1000
#: Names of what a pass starts from.
MOST_ROOTS = 4
#: Nodes of a graph; a larger one is drawn folded.
MAX_NODES = 300
#: Factors on one edge, which an operation that uses an input several times has, and elements of one
#: that are written out.
FACTORS_ON_AN_EDGE, FACTOR_ENTRIES = 3, 6
#: Nodes of a graph that is also laid out with its factors: larger ones fit no frame.
FACTORS_NODES = 60
#: Of an HTML file: steps of a pass that it can be walked through, rows of its table, and the bytes
#: from which on more blocks are put in where it has to be small.
DOCUMENT_STEPS, DOCUMENT_ROWS, DOCUMENT_ROOM = 2000, 2000, 2000
#: Rows of each table in the file of a training run or of an image, which stand in it as HTML.
SHEET_ROWS = 200
#: Bytes of all pictures in the file of an image's maps: base64 makes 2.7 MB of them.
SHEET_PICTURES = 2_000_000
#: Elements of a gradient one of whose entries can be followed, each of which the rule is worked out
#: for; and entries that are offered.
ENTRIES = 256
#: Nodes and blocks that a folded graph opens with: so many can be read in its frame.
READABLE_NODES = 24
#: Entries of gradients that a file can follow, and most tensors that it shows as pictures, too.
DOCUMENT_ENTRIES, DOCUMENT_PICTURES = 500, 40
#: Bytes of a document in a notebook's cell, with the still picture of its graph, and of that.
CELL_BYTES, CELL_PICTURE = 200_000, 30_000
#: Layouts of a folded graph that are made beforehand, each with another block open, of all passes
#: together: 200 of 50 nodes take 6 seconds and 0.8 MB.
MOST_LAYOUTS = 260
#: Names that a folded graph is searched by.
MOST_FOUND = 1000
#: Inputs of an operation whose rules are written out: torch.cat may have thousands.
MOST_STATED_INPUTS = 12
#: Tensors of a trace, and variables, those in models and containers with them.
MOST_TENSORS = 4000
MOST_VARIABLES = 2000
#: Of torch's warnings that are kept.
MOST_WARNINGS = 5
#: Characters of a variable that is text, and items of one list or dict.
MAX_TEXT = 500
MOST_VARIABLE_ITEMS = 200
#: Values in lists and dicts, of all variables together.
MOST_PLAIN_VALUES = 10_000
#: Tensors in lists and dicts that become variables, and how deep they are looked for.
MOST_CONTAINED = 200
MOST_NESTED = 3
#: Levels of an answer: the deepest part of a Trace is a number in a list of a program.
MAX_PLAIN_DEPTH = 32
#: Calls that the gradient check repeats, and bytes of their results; the oldest are discarded.
MOST_TAPED_CALLS = 20_000
MOST_TAPED_BYTES = 256 * 2**20
#: Answers that one run gives.
MOST_ANSWERS = 12
#: What is searched for an answer, so that a large program is explained as soon as a small one:
#: variables, items of one, elements of a tensor, nodes of the syntax tree, leaves of a pass.
MOST_SEARCHED_VARIABLES, MOST_SEARCHED_ITEMS, MOST_SEARCHED_ELEMENTS = 200, 200, 1 << 20
MOST_SEARCHED_TREE, MOST_SEARCHED_LEAVES = 20_000, 40
#: What is followed for one: operations back from a corner, and back to the origin of NaN, and nodes
#: towards the result of a pass.
MOST_CORNER_STEPS, MOST_ORIGIN_STEPS, MOST_USERS = 8, 500, 200
#: Changed programs that are run to try the answers of one.
MOST_TRIES = 16

# --- training: presses, runs and surfaces ---

#: Points of a curve of a session that a child sends: one for each step.
MOST_TRACK_POINTS = 250_000
#: Elements of all parameters of a program that is stepped.
MOST_STEPPED_ELEMENTS = 200_000
#: Actions of one session, an iteration counting as one: to find its reset takes milliseconds.
MOST_ACTIONS = 200_000
#: Memory for the snapshots a session can return to, unless another number is given; and how many,
#: of which each makes a point of the path.
SESSION_BYTES = 64 * 2**20
MOST_SNAPSHOTS = 2_000
#: Bytes of snapshots that a child's answer may carry, besides the last: they come with every press.
ANSWERED_SNAPSHOT_BYTES = 2 * 2**20
#: Groups of parameters besides the first; each is listed in every view.
MOST_GROUPS = 20
#: The largest whole number an argument of a scheduler may be, and how many a list may have.
LARGEST_ARGUMENT, MOST_ARGUMENT_ITEMS = 1_000_000, 20
#: Runs beside the session: each costs as much as the session itself. Characters of one's text.
MOST_RUNS, LONGEST_RUN = 3, 400
#: What a link may ask for: no more than a reader could press in a session.
MOST_LINK_PRESSES, MOST_LINK_ITERATIONS = 2_000, 10_000
#: Characters of a link's presses: written, so that messengers keep the link whole, and read.
LONGEST_WRITTEN_PRESSES, LONGEST_READ_PRESSES = 3_000, 4_000
#: Numbers of a start in a link.
MOST_LINK_NUMBERS = 64
#: Numbers that are in memory at a time: of a path ahead, which is longer only in a plane; of the
#: points of a surface; of a path whose principal directions are computed.
MOST_AHEAD_NUMBERS, MOST_SURFACE_NUMBERS, MOST_PATH_NUMBERS = 1_000_000, 1_000_000, 4_000_000
#: Seconds of a thread's time, so that the page stays live: for a path ahead, for measuring its
#: curvature, for the part of it that a picture has to show, and for a surface, whose grid becomes
#: coarser.
AHEAD_SECONDS, CURVATURE_SECONDS, EXTENT_SECONDS, SURFACE_SECONDS = 0.025, 0.05, 0.06, 0.4
#: Parameters of which the curvature is measured: a product with the Hessian is two backward passes.
MOST_CURVED = 10_000

# --- networks: models, inspections and graphs ---

#: Elements of one array that a child sends: no result of a run holds a whole gradient.
MOST_RESULT_ELEMENTS = 2**20
#: Numbers of the attention maps in one result: layers beyond that are named, and sent when they are
#: asked for.
MOST_ATTENTION_NUMBERS = 500_000
#: Positions of an attention map; of a longer sequence, the first ones.
MOST_ATTENTION_POSITIONS = 256
#: Points of a memory curve: of every span of operations the one with the most memory.
MOST_MEMORY_POINTS = 300
#: Time steps of a recurrent layer that are drawn; of a longer sequence, the last ones.
MOST_TIME_STEPS = 1000
#: Seconds that a reader's network may take for runs with other recurrent weights together.
GAIN_SECONDS = 3.0
#: Rows and channels that are sent of what a normalising layer gets and gives.
MOST_NORM_ROWS, MOST_NORM_CHANNELS = 32, 64
#: Steps of training, and the parameters whose gradients are counted at each: of a larger network
#: the first and the last.
MOST_TRAINING_STEPS, MOST_TRAINING_PARAMETERS = 50, 64
#: Combinations of several inputs that are tried where a program passes none, and the side of the
#: largest image that is tried.
MOST_INPUT_GUESSES, MOST_GUESSED_SIDE = 400, 512
#: Presets whose samples are kept without their images, which noise replaces.
MOST_KEPT_SAMPLES = 16
#: How deeply outputs are nested: one that contains itself has an end.
MOST_NESTED_OUTPUTS = 20
#: Elements of all parameters of the network of a program, its modules, and those observed.
MOST_PROGRAM_ELEMENTS = 30_000_000
MOST_PROGRAM_MODULES = 5_000
MOST_OBSERVED_MODULES = 200

# --- vision: images, weights and maps ---

#: Bytes of an image's file: a camera's photograph has fewer.
IMAGE_BYTES = 20 * 2**20
#: Pixels that a file may declare, by the formats that are read. They keep decoding under 300 MB: a
#: JPEG is shrunk while it is decoded; WebP and AVIF need several copies.
IMAGE_PIXELS = {
    "JPEG": 100_000_000,
    "PNG": 40_000_000,
    "GIF": 40_000_000,
    "BMP": 40_000_000,
    "TIFF": 30_000_000,
    "PPM": 40_000_000,
    "WEBP": 16_000_000,
    "AVIF": 16_000_000,
}
#: The longer side by the shorter: networks resize the shorter to about 256 pixels, and the longer
#: must stay bounded too.
IMAGE_ASPECT = 10
#: Pixels; an image whose longer side has more is shrunk by a whole factor.
IMAGE_SIDE = 2048
#: Characters of a sentence about an image, and sentences: a child says them of a stranger's file.
IMAGE_TEXT, IMAGE_NOTES = 300, 10
#: Bytes of a file of weights; the largest network here has 133 million parameters.
WEIGHTS_BYTES = 600 * 2**20
#: Bytes of the list of tensors with which a safetensors file begins: reading one of 30 MB takes
#: seconds and 700 MB; the longest of a network here has 0.1 MB.
WEIGHTS_LIST = 2**20
#: Of what torch.save has written: its parts, the bytes of its pickle, and the bytes that all parts
#: have unpacked. A small file can claim to be endless.
CHECKPOINT_ENTRIES, CHECKPOINT_PICKLE = 50_000, 4 * 2**20
CHECKPOINT_UNPACKED = 512 * 2**20
#: Prefixes that are taken from the names of tensors.
MOST_WRAPPERS = 4
#: Classes of a network, and of a file's last layer.
MOST_CLASSES = 2000
#: Seconds that a download of weights waits for the next byte.
SILENT_DOWNLOAD = 15.0
#: Bytes of a layer's input that a browser gets for its pointer; the other channels are summed.
POINTER_BYTES = 450_000
#: The sides in pixels, from and to, of the square images that a reader's own network may take.
OWN_IMAGE_SIDES = (8, 512)
#: Of what a child says of a reader's network: values of an array (the maps of a large layer), a
#: side, and rows or columns of an input with its padding, which a browser draws.
MAP_VALUES, MAP_SIDE, PADDED_SIDE = 2**23, 2**16, 4096

# --- sandbox: children, messages and the queue ---

#: What a program may use unless the operator says otherwise, in MB beyond what its child starts
#: with. A small transformer needs three quarters of it; a server for many sets less.
PROGRAM_MEMORY = 2048
#: Bytes by which a child may have more than that, however it got them, before the server ends it.
MEMORY_MARGIN = 64 * 2**20
#: Threads and files that a program may have at once. Operators need a few of either.
PROGRAM_THREADS, OPEN_FILES = 32, 16
#: The largest file that a program may write, and its most bytes and files (or folders): they lie in
#: memory.
SCRATCH_FILE, SCRATCH_BYTES, SCRATCH_FILES = 64 * 2**20, 128 * 2**20, 1000
#: No message may have more bytes: an uploaded image of 25 MB fits as base64.
MESSAGE = 36 * 2**20
#: Bytes of a header: memory for a body is taken before it arrives, and this one comes from whoever
#: has found the socket.
HEADER_BYTES = 2**12
#: Bytes of an error, and those that it or a progress message may take when parsed. What a child
#: sends may be anything.
ERROR_BYTES, ERROR_MEMORY = 2**18, 2**22
#: Bytes of a part of an answer: it is sent while the program goes on.
PART_BYTES = 2**22
#: Tensors that a child sends as raw bytes: the largest networks have a tenth.
SENT_TENSORS = 10_000
#: Bytes of a file that comes with a request: the largest weights have half.
REQUEST_FILE = 2**30
#: Unread bytes at one end after which the other has to wait: the server keeps them in memory.
UNREAD_BYTES = 2**20
#: Connections that may wait to be accepted. A client that finds them full tries again.
UNACCEPTED = 1024
#: Seconds that a server may take to start and to reply, and that a request may wait in the queue.
START_SECONDS, REPLY_SECONDS, QUEUE_SECONDS = 60.0, 10.0, 60.0
#: Seconds beyond a task's own limit in which its answer must arrive.
ANSWER_DELAY = 1.25
#: Requests of all readers, and of one, that may wait before one is refused: more would wait for
#: minutes.
WAITING, WAITING_OF_ONE = 100, 8
#: Seconds that a job may take unless another limit is given, and at most.
JOB_SECONDS, LONGEST_JOB_SECONDS = 5.0, 3600
#: The share of its time after which a job should stop by itself, and still answer.
SOFT_SHARE = 0.85
#: Seconds for all tries of a run's answers. They have the lowest priority: on a busy machine that
#: is many times the processor time that they may have.
PROVE_SECONDS = 30.0
#: Seconds for reading a file of weights: the largest need less than one.
WEIGHTS_SECONDS = 20.0
#: Seconds for the self-test, at the lowest priority.
SELF_TEST_SECONDS = 120.0
#: Seconds within which a child has to notice that the reader stops it; then it is ended.
STOP_SECONDS = 1.0
#: Seconds for one frame of a drag, by which it may arrive late, and for which a child takes frames.
FRAME_SECONDS, FRAME_DELAY, LIVE_SECONDS = 1.0, 0.5, 60.0
#: Runs of one session's pages a second in the long term, and runs that may come at once after a
#: pause: a held key asks for 30 a second, a drag for 20.
RERUNS, RERUNS_AT_ONCE = 5.0, 100.0
#: Seconds that a run of a page waits at most because there were too many.
RERUN_WAIT = 1.0
#: Runs of pages that may be under way at once, and seconds after which one no longer counts. With
#: more of them the thread that talks to the browsers gets too small a share of the interpreter.
PAGE_PLACES, PAGE_QUICK = 2, 0.5
#: Seconds of processor lately: a reader uses about half of it. Of the sessions that have used more,
#: one runs a page at a time, so that for others there is a place at once.
MUCH_USED = 0.3
#: Bytes of results that are kept for all readers together: traces, results of the project's
#: networks, and proofs. A result that nobody has used for so many seconds is dropped.
KEPT_TRACES, KEPT_NETWORK_RESULTS, KEPT_PROOFS = 128 * 2**20, 64 * 2**20, 16 * 2**20
UNUSED_SECONDS = 300.0
#: Characters of a program's output that are shown while it runs: the last ones.
SHOWN_OUTPUT = 4000
#: Sentences about a file of weights, and characters of each: a child made them.
WEIGHTS_NOTES, NOTE_CHARACTERS = 8, 1000
#: Characters of output in one report of a program's progress.
REPORTED_OUTPUT = 2000

# --- pages: what a page holds, shows and asks for ---

#: What a browser gives back to another server after a loss, which may be anything: values, the
#: characters of one and of a page's query.
MOST_KEPT, MOST_KEPT_CHARACTERS, MOST_QUERY_CHARACTERS = 20, 200_000, 100_000
#: Seconds that a page may take before its server is ready: the first waits for the sandbox.
FIRST_RUN_SECONDS = 60.0
#: Seconds until a server that could not open a page tries again: HAProxy asks every second.
REOPEN_SECONDS = 5.0
#: Seconds that a server's other work waits for the first answer.
FIRST_ANSWER_SECONDS = 30.0
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
#: Characters of a lesson's file, which a link can hold packed; its steps.
LESSON_FILE, LESSON_STEPS = 20_000, 20
#: Dots of a key in that file: tomllib takes the square of their number. A number in it: 64 bits
#: have smaller ones. The step of a walk that it names as a hint.
LESSON_KEY_DOTS, LESSON_NUMBER, LESSON_HINT = 20, 1e20, 10_000
#: Losses of a file that are counted: the size of an upload grows by one megabyte with each.
MOST_LOST_SERVERS = 9
# The Network page.
#: Rows of the tree of layers: a browser draws them at once.
MOST_TREE_ROWS = 4000
#: Repeats of a module, as of a cell in each time step, that a graph unfolds before a click.
MOST_REPEATS = 30
#: Attention maps that are drawn together, and samples to choose from.
MOST_ATTENTION_MAPS, MOST_ATTENTION_SAMPLES = 24, 1000
#: Recurrent layers that are drawn in one chart.
MOST_RECURRENT_LAYERS = 4
#: Calls of hooks that are listed.
MOST_HOOK_CALLS = 60
#: Feature maps: seconds that a child may take to decode an image.
DECODING_SECONDS = 10.0
#: The largest file of weights in megabytes; the server's own limit is a little higher. Reading it
#: takes as much again, of what a child may use: 512 MB on a server.
WEIGHTS_MEGABYTES = 240
#: Bytes of values in a file of all maps.
MAPS_FILE = 32 * 2**20
#: About how many bytes are kept for all readers together, the last one whatever its size: networks
#: with weights, those on other devices, what is known of readers' programs, results, and of each
#: kind what a page makes of them, inputs and pointers' numbers, and pictures.
KEPT_MODELS, KEPT_ON_DEVICES, KEPT_OWN_NETWORKS = 256 * 2**20, 2**30, 4 * 2**20
KEPT_RESULTS, KEPT_INPUTS, KEPT_PICTURES = 128 * 2**20, 32 * 2**20, 16 * 2**20
#: Iterations of one run of the Optimizer page.
MOST_RUN_ITERATIONS = 10_000
#: Memory for the snapshots of a reader's session on the Optimizer page; a second run may take as
#: much again. Those of a reader's own problem are needed for every press.
READER_SESSION_BYTES, OWN_SESSION_BYTES = 16 * 2**20, 32 * 2**20
#: Seconds that the runs to compare may take, all together, before the page is drawn.
FOLLOW_SECONDS = 0.25
#: Points that are sent of one run's path, and of all together: a picture shows no more.
MOST_POINTS_OF_RUN, MOST_POINTS_SENT = 600, 1_200
#: Characters read of a scheduler's argument in a link; of the names of a group, and names.
LONGEST_LINK_ARGUMENT, LONGEST_LINK_NAMES, MOST_LINK_NAMES = 300, 2_000, 50
