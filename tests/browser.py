"""A headless Chromium that shows a page, where there is one; it reaches no network."""

import shutil
import subprocess
import tempfile

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND",
    "--virtual-time-budget=2000",
)  # fmt: skip


def shown(file, *, width=360, script=""):
    """Give the document as it is after a browser has loaded it.

    Args:
        file: the page.
        width: of the window, in CSS pixels.
        script: JavaScript that is run at the end of it.
    """
    with tempfile.TemporaryDirectory() as folder:
        probe = file.with_name(f"probe-{file.name}")
        probe.write_text(file.read_text().replace("</body>", f"<script>{script}</script></body>"))
        command = [
            CHROMIUM, *_FLAGS, f"--user-data-dir={folder}", f"--window-size={width},800", "--dump-dom", f"file://{probe}",
        ]  # fmt: skip
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
