"""The same jobs where nothing is mounted, and nobody would see what a child has written."""

from explorer.sandbox import scratch
from tests.sandbox.watched_jobs import JOBS

__all__ = ["JOBS"]

scratch.can_be_watched = lambda: False
