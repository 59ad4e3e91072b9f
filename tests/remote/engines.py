"""Engines without processes whose workers do what a test needs."""

import json
from collections.abc import Callable
from concurrent.futures import Future

from sads.execution.local import WorkerLostError

from ..sweep.small import InProcess


class Mortal(InProcess):
    """Workers that die at the calls of some numbers, counted from 0."""

    def __init__(self, deaths: set[int], workers: int = 2):
        super().__init__(workers)
        self.deaths, self.calls = deaths, 0

    def submit(self, function, *arguments):
        number, self.calls = self.calls, self.calls + 1
        if number not in self.deaths:
            return super().submit(function, *arguments)
        dead: Future[str] = Future()
        dead.set_exception(WorkerLostError("its worker died (signal 9)"))
        return dead


class Deserted(InProcess):
    """Workers that all leave after so many calls and never come back."""

    def __init__(self, after: int):
        super().__init__(1)
        self.left = after

    @property
    def present(self) -> bool:
        return self.left > 0

    def submit(self, function, *arguments):
        self.left -= 1
        return Future() if self.left < 0 else super().submit(function, *arguments)


class Elsewhere(InProcess):
    """Workers of another installation: they are told of what this one has in other words."""

    def __init__(self, change: Callable[[dict], None]):
        super().__init__(1)
        self.change = change

    def submit(self, function, *arguments):
        errand = json.loads(arguments[0])
        self.change(errand)
        return super().submit(function, json.dumps(errand), *arguments[1:])


class Shuffled(InProcess):
    """Workers that answer in another order than they were asked."""

    def __init__(self):
        super().__init__(4)
        self.held: list = []

    def submit(self, function, *arguments):
        future: Future[str] = Future()
        self.held.append((future, function, arguments))
        if len(self.held) >= 3:
            for one, call, given in reversed(self.held):
                one.set_result(call(*given))
            self.held = []
        return future
