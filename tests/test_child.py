"""A child process: its death is seen, its limits are kept, and nothing is left of it."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import psutil
import pytest

from libbench.child import Channel, Child, ChildDied, ChildLate


def echo(channel: Channel) -> None:
    while True:
        try:
            channel.send(channel.receive())
        except EOFError:
            return


def die(channel: Channel) -> None:
    os.kill(os.getpid(), getattr(signal, channel.receive()))


def tell_variable(channel: Channel) -> None:
    channel.send(os.environ.get(channel.receive()))


def leave(channel: Channel) -> None:
    os._exit(channel.receive())


def speak_and_die(channel: Channel) -> None:
    channel.send("last words")
    print("to the log")
    os.kill(os.getpid(), signal.SIGKILL)


def start_a_grandchild(channel: Channel) -> None:
    grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    channel.send(grandchild.pid)
    time.sleep(600)


@pytest.fixture
def start(tmp_path):
    children = []

    def begin(main):
        children.append(Child(main, tmp_path / "log.txt"))
        return children[-1]

    yield begin
    for child in children:
        child.close()


def gone(pid: int, within: float = 5.0) -> bool:
    end = time.monotonic() + within
    while time.monotonic() < end:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.02)
    return False


def test_messages_go_both_ways(start):
    child = start(echo)

    child.send({"a": [1, 2.5, None, "ü"]})

    assert child.receive(60) == {"a": [1, 2.5, None, "ü"]}


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGBUS", "SIGKILL", "SIGABRT"])
def test_a_death_by_signal_is_told_by_its_number(start, name):
    child = start(die)
    child.send(name)

    with pytest.raises(ChildDied) as death:
        child.receive(60)

    assert death.value.code == -getattr(signal, name)


def test_a_child_has_the_environment_that_its_parent_has_now(start, monkeypatch):
    monkeypatch.setenv("LIBBENCH_TEST_VARIABLE", "set later")
    child = start(tell_variable)
    child.send("LIBBENCH_TEST_VARIABLE")

    assert child.receive(60) == "set later"


def test_an_exit_without_an_answer_is_told_by_its_code(start):
    child = start(leave)
    child.send(3)

    with pytest.raises(ChildDied) as death:
        child.receive(60)

    assert death.value.code == 3


def test_last_words_are_read_before_the_death_is_told(start, tmp_path):
    child = start(speak_and_die)

    assert child.receive(60) == "last words"
    with pytest.raises(ChildDied):
        child.receive(60)

    assert "to the log" in (tmp_path / "log.txt").read_text()


def test_an_answer_that_does_not_come_is_late(start):
    child = start(echo)

    with pytest.raises(ChildLate):
        child.receive(0.05)


def test_a_child_that_is_asked_where_it_is_writes_it_to_its_log(start, tmp_path):
    child = start(start_a_grandchild)
    child.receive(30)

    child.tell_where()

    assert "in start_a_grandchild" in (tmp_path / "log.txt").read_text()


def test_who_waits_for_a_child_that_is_killed_from_elsewhere_learns_of_it(start):
    child = start(echo)
    threading.Timer(0.2, child.kill).start()

    with pytest.raises(ChildDied) as death:
        child.receive(30)

    assert death.value.code == -signal.SIGKILL
    child.close()
    child.kill()


def test_closing_ends_the_grandchildren_too(start):
    child = start(start_a_grandchild)
    grandchild = child.receive(60)
    pid = child.pid

    child.close()
    child.close()

    assert gone(pid)
    assert gone(grandchild)


def busy(channel: Channel) -> None:
    channel.send("up")
    while True:
        pass


@pytest.mark.parametrize("main", ["echo", "busy"])
def test_a_child_is_gone_when_its_parent_is_killed(tmp_path, main):
    script = tmp_path / "parent.py"
    # Without a guard: the child must not run its parent's script again.
    script.write_text(
        textwrap.dedent(f"""
        import sys, time
        from pathlib import Path
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from test_child import {main}
        from libbench.child import Child
        child = Child({main}, Path({str(tmp_path / "log.txt")!r}))
        child.send("up")
        child.receive(60)
        print(child.pid, flush=True)
        time.sleep(600)
        """)
    )
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert psutil.pid_exists(pid)

    parent.kill()
    parent.wait()
    parent.stdout.close()

    assert gone(pid)
