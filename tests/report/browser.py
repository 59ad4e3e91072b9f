"""Debian's Chromium, where there is one."""

import os
import shutil

INSTALL = "apt-get install chromium"


def executable() -> str | None:
    """The path of an installed browser; None if there is none."""
    names = (os.environ.get("SADS_CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if name and (found := shutil.which(name))), None)


def launch(playwright, path: str):
    """A headless browser; root has no sandbox."""
    return playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
