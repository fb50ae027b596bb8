"""A process that works for the service, one question after the other, so that nothing else waits for it.

What computes for long in a thread holds up the loop that answers requests, since Python runs one thread at a time. A
question and its answer are messages over pipes: a mark, two lengths, a head in JSON, a body of bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import select
import signal
import struct
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from latesum._render import finite

#: Before every message. Another mark in its place says that the answer is not wanted any longer.
_MESSAGE, _GIVE_UP = b"\x01", b"\x00"
#: Before a message that is no answer yet: what is known of it by now.
_NEWS = b"\x02"
_LENGTHS = struct.Struct(">II")
#: How much nicer to others the process is than the service.
_NICENESS = 5


class Message(NamedTuple):
    """A question or an answer."""

    head: dict[str, Any]
    body: bytes = b""


def pack(message: Message) -> bytes:
    """A message as it is written."""
    head = json.dumps(finite(message.head)).encode()
    return _MESSAGE + _LENGTHS.pack(len(head), len(message.body)) + head + message.body


class ProcessEnded(Exception):
    """The process ended before it had answered."""


class HelperProcess:
    """The process of a module, begun with the first question and ended when none comes.

    Args:
        module: What is run: it calls `answer_questions`.
        idle: The seconds after which a process that is not asked ends.
    """

    def __init__(self, module: str, idle: float) -> None:
        self._module = module
        self._idle = idle
        self._process: asyncio.subprocess.Process | None = None
        #: The one that was ended because no question came.
        self._ended: asyncio.subprocess.Process | None = None
        self._ending: asyncio.TimerHandle | None = None
        self._asked = self._unwanted = False

    async def ask(
        self,
        question: Message,
        seconds: float,
        on_news: Callable[[dict[str, Any]], None] | None = None,
    ) -> Message:
        """The answer to a question, which is asked when the one before it is answered.

        If the one who waits is cancelled, or it takes too long (`TimeoutError`), the process is ended.

        Args:
            question: What is asked.
            seconds: How long it may take.
            on_news: Called with what the process says by `tell` while it works on the answer.
        """
        if self._ending is not None:
            self._ending.cancel()
        self._asked = self._unwanted = False
        process = self._process
        if process is None or process.returncode is not None:
            # -P: no file of the folder that the service was started in is imported.
            process = self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", self._module, stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            async with asyncio.timeout(seconds):
                process.stdin.write(pack(question))
                self._asked = True
                if self._unwanted:  # since the process was begun
                    self.give_up()
                await process.stdin.drain()
                mark, answer = await _next_message(process.stdout)
                while mark == _NEWS:
                    if on_news:
                        on_news(answer.head)
                    mark, answer = await _next_message(process.stdout)
        except BaseException as error:  # also where the one who waits has left
            await self.close()
            if isinstance(error, ValueError | EOFError | OSError) and not isinstance(
                error, TimeoutError
            ):
                raise ProcessEnded from error
            raise
        self._asked = False
        self._ending = asyncio.get_running_loop().call_later(self._idle, self._leave)
        return answer

    def give_up(self) -> None:
        """Tell the process that its answer is not wanted any longer; it answers soon that it gave up."""
        self._unwanted = True
        if self._asked and self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(_GIVE_UP)

    def _leave(self) -> None:
        """End a process that is idle. The next question goes to another one: this one's end may be known later."""
        self._end()
        self._ended, self._process = self._process, None

    def _end(self) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def close(self) -> None:
        """End the process, whatever it does."""
        if self._ending is not None:
            self._ending.cancel()
        self._end()
        for process in (self._process, self._ended):
            if process is not None:
                await process.wait()
        self._process = self._ended = None


async def _next_message(source: asyncio.StreamReader) -> tuple[bytes, Message]:
    mark = await source.readexactly(len(_MESSAGE))
    head_length, body_length = _LENGTHS.unpack(await source.readexactly(_LENGTHS.size))
    head = json.loads(await source.readexactly(head_length))
    return mark, Message(head, await source.readexactly(body_length))


#: Where the answers of this process go, if it is one that answers questions.
_answers: int | None = None


def answer_questions(answer: Callable[[Message], Message]) -> None:
    """What such a process does: answer until no more questions come.

    Args:
        answer: Gives the answer to a question.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the service ends it
    with contextlib.suppress(OSError, AttributeError):
        os.nice(_NICENESS)
    global _answers
    asked, _answers = sys.stdin.fileno(), os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer
    while mark := os.read(asked, 1):
        if mark == _GIVE_UP:
            continue  # of a question that was answered already
        head_length, body_length = _LENGTHS.unpack(_read(asked, _LENGTHS.size))
        head = json.loads(_read(asked, head_length))
        _write(_answers, pack(answer(Message(head, _read(asked, body_length)))))


def tell(news: dict[str, Any]) -> None:
    """Say what is known by now of the answer that this process works on; nothing if no one asked.

    Args:
        news: JSON values.
    """
    if _answers is not None:
        _write(_answers, _NEWS + pack(Message(news))[len(_MESSAGE) :])


def _write(target: int, said: bytes) -> None:
    while said:
        said = said[os.write(target, said) :]


def is_wanted() -> bool:
    """Whether the service still waits for the answer that this process works on."""
    if sys.platform == "win32":  # pragma: no cover - pipes cannot be looked at there
        return True
    return not select.select([sys.stdin.fileno()], [], [], 0)[0]


def _read(source: int, length: int) -> bytes:
    parts = []
    while length:
        part = os.read(source, min(length, 1 << 20))
        if not part:
            sys.exit(0)  # the service has ended
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
