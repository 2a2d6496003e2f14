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
