"""A process that works for the service is begun anew whenever it has ended, between two questions too."""

import asyncio
import os

import pytest

from latesum.service.helper_process import HelperProcess, Message

ECHO = """
from latesum.service.helper_process import answer_questions
answer_questions(lambda question: question)
"""


@pytest.fixture
def echo(tmp_path, monkeypatch):
    """The name of a module whose process answers with the question."""
    (tmp_path / "echoing.py").write_text(ECHO)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)
    return "echoing"


def test_after_it_was_ended_for_want_of_questions_the_next_one_is_answered(echo):
    asked = [Message({"number": number}, b"\x00body" * 50_000) for number in range(2)]

    async def ask_late():
        helper = HelperProcess(echo, idle=0.0)
        first = await helper.ask(asked[0], 60)
        ended = helper._process
        await asyncio.wait_for(ended.wait(), 60)
        second = await helper.ask(asked[1], 60)
        assert helper._process is not ended
        await helper.close()
        return [first, second]

    assert asyncio.run(ask_late()) == asked


def test_a_question_right_after_it_was_ended_for_want_of_questions_is_answered(echo):
    """The process was killed a moment ago, and the loop does not know yet that it has ended."""

    async def ask_at_once():
        helper = HelperProcess(echo, idle=3600.0)
        await helper.ask(Message({"number": 1}), 60)
        ended = helper._process
        helper._ending._run()  # as the loop does when the time is over
        assert ended.returncode is None
        answer = await helper.ask(Message({"number": 2}), 60)
        await helper.close()
        assert ended.returncode is not None
        return answer

    assert asyncio.run(ask_at_once()) == Message({"number": 2})


def test_after_the_system_killed_it_between_two_questions_the_next_one_is_answered(echo):
    """As a machine without memory does."""

    async def ask_after_a_kill():
        helper = HelperProcess(echo, idle=3600.0)
        await helper.ask(Message({"number": 1}), 60)
        killed = helper._process
        killed.kill()
        await asyncio.wait_for(killed.wait(), 60)
        answer = await helper.ask(Message({"number": 2}), 60)
        await helper.close()
        return answer

    assert asyncio.run(ask_after_a_kill()) == Message({"number": 2})
