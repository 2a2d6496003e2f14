"""Every limit of size, number and time that protects a reader, the machine or the picture, with
its reason. What a server's operator may set is in `explorer.sandbox.options`.
"""

# --- program: what is read of a text, and kept of its run ---

# --- trace: what is recorded, explained and tried ---

# --- training: presses, runs and surfaces ---

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

# --- vision: images, weights and maps ---

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
#: Losses of a file that are counted: the size of an upload grows by one megabyte with each.
MOST_LOSSES = 9
#: Seconds that a page may take before its server is ready: the first waits for the sandbox.
FIRST_RUN_SECONDS = 60.0
# The Network page.
#: Rows of the tree of layers: a browser draws them at once.
MOST_TREE_ROWS = 4000
#: Attention maps that are drawn together, and samples to choose from.
MOST_ATTENTION_MAPS, MOST_ATTENTION_SAMPLES = 24, 1000
#: Recurrent layers that are drawn in one chart.
MOST_RECURRENT_LAYERS = 4
#: Calls of hooks that are listed.
MOST_HOOK_CALLS = 60
