"""A Trace, or a report on a network, as one HTML file, which also fits into a notebook's cell.

It is drawn by the same scripts as on the pages; nothing is fetched, and no server is needed. What
the reader needs first stands in the file as HTML. What is drawn from it later, step by step and
block by block, is packed, and unpacked by the browser when it is asked for.
"""

from __future__ import annotations

from explorer.view.document.network import report_document
from explorer.view.document.page import frame
from explorer.view.document.program import document

__all__ = ["document", "frame", "report_document"]
