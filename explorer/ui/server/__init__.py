"""What the app's process does for all readers: calls of the sandbox, caches, places, metrics, its
start and end. Draws almost nothing.
"""
