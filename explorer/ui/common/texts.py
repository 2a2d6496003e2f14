"""The texts that are run: their keys in the session and in a page's link."""

#: A program, that of a network, a reader's own problem in two parts, and the home page's box.
PROGRAM, MODULE, SETUP, LOSS, BOX = TEXTS = ("program", "module", "setup", "loss", "box")
