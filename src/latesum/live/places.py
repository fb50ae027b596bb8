"""Where campaigns are kept when nobody says otherwise."""

from __future__ import annotations

import os
import sys
from pathlib import Path

#: Set to a PostgreSQL address to keep campaigns there.
DATABASE_VARIABLE = "LATESUM_DATABASE_URL"
#: Set to a folder to keep the SQLite file there.
FOLDER_VARIABLE = "LATESUM_DATA_DIR"


def data_folder() -> Path:
    """The user's folder for data, as the system has it."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return (Path(base) if base else Path.home() / "AppData" / "Local") / "latesum"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "latesum"
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "latesum"


def default_url() -> str:
    """The address of the store: `LATESUM_DATABASE_URL`, or a file in the user's data folder."""
    return os.environ.get(DATABASE_VARIABLE) or f"sqlite:///{data_folder() / 'campaigns.db'}"
