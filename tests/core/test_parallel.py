import io
import sys

import pytest

from labelwood import show_progress
from labelwood.core import progress as progress_module
from labelwood.core.memory import available_memory, require_memory
from labelwood.core.parallel import blocks, parallel, parallel_stream
from labelwood.core.progress import progress


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_results_come_in_the_order_of_the_items(n_jobs):
    assert parallel(lambda i: i * i, range(20), n_jobs=n_jobs) == [i * i for i in range(20)]


def test_an_error_in_a_thread_reaches_the_caller():
    with pytest.raises(ZeroDivisionError, match="division"):
        parallel(lambda i: 1 / i, [1, 0], n_jobs=2)


def test_blocks_cover_everything_once():
    assert [i for block in blocks(10, 3) for i in block] == list(range(10))
    assert blocks(0, 3) == []


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_library_is_silent_by_itself(capsys):
    with progress("work", total=3) as bar:
        bar.update(3)
    assert capsys.readouterr().err == ""


def test_a_log_gets_lines_with_the_time_left(capsys, monkeypatch):
    monkeypatch.setattr(progress_module, "_SECONDS_BETWEEN_LINES", 0.0)
    with show_progress(), progress("training labels", total=4) as bar:
        bar.update()
    assert "training labels: 1 of 4 (25%)" in capsys.readouterr().err


def test_a_terminal_gets_a_bar(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with show_progress(), progress("training labels", total=2) as bar:
        bar.update(2)
    assert "training labels" in terminal.getvalue()


def test_showing_ends_with_its_block_and_can_be_turned_off(capsys, monkeypatch):
    monkeypatch.setattr(progress_module, "_SECONDS_BETWEEN_LINES", 0.0)
    with show_progress(), show_progress(False):
        parallel(str, [1, 2], description="inner")
    parallel(str, [1, 2], description="outer")
    assert capsys.readouterr().err == ""


def test_work_that_cannot_fit_is_refused_with_a_remedy():
    with pytest.raises(MemoryError, match=r"the fit needs about .* GB are free; use fewer labels"):
        require_memory(2**60, "the fit", "use fewer labels")
    require_memory(1, "the fit", "nothing")
    assert available_memory() > 0


def test_a_stream_is_read_a_few_items_ahead_and_answered_in_order():
    read = []

    def items():
        for i in range(40):
            read.append(i)
            yield i

    results = parallel_stream(lambda i: 2 * i, items(), n_jobs=2)
    assert [next(results) for _ in range(3)] == [0, 2, 4]
    assert len(read) <= 8
    assert list(results) == list(range(6, 80, 2))
    assert list(parallel_stream(abs, iter([]))) == []
    assert list(parallel_stream(abs, iter([-1]), n_jobs=2)) == [1]
