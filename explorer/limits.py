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
