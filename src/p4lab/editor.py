"""What editors that are Python programs ask this package for."""

from __future__ import annotations

import sys
from typing import Any


def jupyter_server(manager: object = None) -> dict[str, Any]:
    """Tells jupyter-lsp (entry point `jupyter_lsp_spec_v1`) how to start `p4lab lsp`."""
    return {
        "p4lab": {
            "version": 2,
            "argv": [sys.executable, "-m", "p4lab", "lsp"],
            "languages": ["p4"],
            "mime_types": ["text/x-p4"],
            "display_name": "p4lab",
            # The server reads included files itself.
            "requires_documents_on_disk": False,
        }
    }
