"""Models that end badly, or slowly, for the tests of the runner Ray; a node imports them by this name."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import torch


class Crashes(torch.nn.Module):
    """Ends its process at the third call: two are made before the first batch."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls == 4:
            os.kill(os.getpid(), signal.SIGSEGV)
        return 2 * x


class Hangs(torch.nn.Module):
    """Starts a process of its own, says which, and does not return."""

    def forward(self, x):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        print("started", child.pid, flush=True)
        time.sleep(600)
        return x


class Slow(torch.nn.Module):
    """Waits at every call until a file is there."""

    def __init__(self, file):
        super().__init__()
        self.file = Path(file)

    def forward(self, x):
        while not self.file.exists():
            time.sleep(0.01)
        return x + 1


class Numbered(torch.nn.Linear):
    """Says from a number on which process it is in, and then waits until a file is there."""

    def __init__(self, number, first=99, folder="", until=""):
        super().__init__(4, 3)
        self.number, self.first, self.folder, self.until = number, first, Path(folder), Path(until)

    def forward(self, x):
        if self.number >= self.first and not self.until.exists():
            part = self.folder / f"part-{self.number}"
            part.write_text(str(os.getpid()))
            part.rename(self.folder / f"at-{self.number}")
            while not self.until.exists():
                time.sleep(0.01)
        return super().forward(x) + (self.number % 3 == 1)
