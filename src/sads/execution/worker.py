"""A worker process of the local engine: it reads a JSON line for each call and writes one back.

It ends when its standard input ends, at once and even in the middle of a call, so that no worker
outlives the process that started it, however that process ended. The modules named on its command
line are imported before it reports that it is ready.
"""

import faulthandler
import json
import os
import queue
import signal
import sys
import threading
import traceback
from importlib import import_module
from typing import Any

from ..errors import brief
from ..foundation.versions import code_version


def main() -> None:
    """Serve calls until standard input ends."""
    # What a network prints must not be mistaken for an answer.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started it
    calls: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(calls,), daemon=True).start()
    from ..devices import keep_freed_memory  # imports torch, which takes seconds

    for module in sys.argv[1:]:
        import_module(module)
    keep_freed_memory()
    code_version()  # it is cached now, while the files are those that were loaded
    answer = {"value": os.getpid()}
    while True:
        answers.write(f"{json.dumps(answer)}\n")
        answers.flush()
        answer = _answer(calls.get())


def _answer(line: str) -> dict[str, Any]:
    try:
        call = json.loads(line)
        function = getattr(import_module(call["module"]), call["function"])
        return {"value": function(*call["arguments"])}
    except Exception as error:
        traceback.print_exc()
        return {"error": brief(error)}


def _listen(calls: "queue.SimpleQueue[str]") -> None:
    for line in sys.stdin:
        calls.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()
