"""How many files somebody opens who follows a call to its result: through the CLI's ``compare`` and the page Fit.

    python -m benchmarks.trace_calls            # the two counts
    python -m benchmarks.trace_calls --list     # and each step, `<-` where it is a return

Two journeys are followed, each in a process where nothing was called before: ``calib compare digits-mlp.npz --methods
temperature`` from ``main`` to the printed table, and the page Fit with that sample: drawn, pressed, the fit listed.

A step is the first call of a function of ``calib`` whose body, without the docstring, has seven lines or more; a
shorter one is read in passing where it is called. So are special methods, lambdas, comprehensions and what a module
does when it is imported. ``files`` are those that hold a step. A step is a return if its file held an earlier step and
no long function that called it, directly or through others, is in that file: it was left, and is opened again. It was
not left where the step before is in it too.
Only the thread that draws the page is followed; the queue's threads and the worker's process are not.
"""

from __future__ import annotations

import ast
import multiprocessing
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from types import CodeType, FrameType

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = f"{ROOT / 'calib'}{os.sep}"
SAMPLE, METHOD = "digits-mlp", "temperature"
LONG_ENOUGH = 7
FOLLOWED = ("MainThread", "ScriptRunner.scriptThread")
IMPORT = "an import"
Steps = list[tuple[str, str, bool]]  # file, function, whether it is a return


@cache
def long_functions(file: str) -> frozenset[int]:
    """First lines, decorators included, of a file's functions that are steps."""
    found = set()
    for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            if body and (node.end_lineno or 0) - body[0].lineno + 1 >= LONG_ENOUGH:
                found.add(min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]))
    return frozenset(found)


class Journey:
    """The steps of one journey so far."""

    def __init__(self) -> None:
        self.steps: Steps = []
        self._known: set[tuple[str, int]] = set()
        self._callers: defaultdict[int, list[str]] = defaultdict(list)

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Follow what this thread and those started meanwhile call."""
        threading.setprofile(self._see)
        sys.setprofile(self._see)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _see(self, frame: FrameType, event: str, _: object) -> None:
        if threading.current_thread().name not in FOLLOWED:
            return
        callers = self._callers[threading.get_ident()]
        if event == "call":
            callers.append(self._place(frame.f_code, callers))
        elif event == "return" and callers:
            callers.pop()

    def _place(self, code: CodeType, callers: list[str]) -> str:
        """Take down the step, where a call is one; the file of a long function, for other calls none."""
        file, line, name = code.co_filename, code.co_firstlineno, code.co_name
        if name == "_find_and_load":
            return IMPORT
        if not file.startswith(PACKAGE) or name.startswith(("<", "__")) or line not in long_functions(file):
            return ""
        if (file, line) not in self._known and IMPORT not in callers:
            path = os.path.relpath(file, ROOT)
            known = any(path == before for before, *_ in self.steps)
            back = known and file not in callers and path != self.steps[-1][0]
            self.steps.append((path, code.co_qualname, back))
            self._known.add((file, line))
        return file


def through_the_cli() -> Steps:
    """``compare`` on the sample."""
    from calib.cli import main

    journey = Journey()
    with redirect_stdout(StringIO()), journey.followed():
        main(["compare", str(ROOT / "sample_data" / f"{SAMPLE}.npz"), "--methods", METHOD])
    return journey.steps


def through_the_page() -> Steps:
    """The page Fit, until the fit is done."""
    from streamlit.testing.v1 import AppTest

    os.environ["CALIB_WORKSPACE"] = "off"  # AppTest's visitor has no address that a kept data set could count to
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    app.button(key=f"sample/{SAMPLE}").click().run()
    app.session_state["fit/methods"] = [METHOD]
    journey = Journey()
    with journey.followed():
        app.switch_page(str(next(ROOT.glob("pages/*Fit.py")).relative_to(ROOT))).run()
        app.button(key="fit/start").click().run()
        while "Remove" not in [button.label for button in app.button]:
            time.sleep(1)
            app.run()
    return journey.steps


if __name__ == "__main__":
    for title, journey in (("CLI compare", through_the_cli), ("page Fit", through_the_page)):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            steps = pool.apply(journey)
        files = {file for file, _, _ in steps}
        print(f"{title}: {len(files)} files, {sum(back for *_, back in steps)} returns, {len(steps)} functions")
        if "--list" in sys.argv:
            for file, function, back in steps:
                print(f"  {'<-' if back else '  '} {file}: {function}")
