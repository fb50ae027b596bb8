"""Heavy work: one process per job, with limits, a turn for each token, and an end when no one waits."""

import asyncio
import io
import json
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from latesum.service import jobs
from latesum.service.errors import Refused, send
from latesum.service.jobs import FILES, Jobs

PARQUET = "application/vnd.apache.parquet"
FILE = b"bucket,total\n2026-03-01,7\n" + b"\n" * 20_000
SENT = {"form": {}}


def test_a_job_is_done_by_a_process_of_its_own():
    answer = asyncio.run(Jobs().run("history", SENT, FILE, owner="a"))
    assert answer.status_code == 200
    assert json.loads(answer.body)["first"] == "2026-03-01"
    refused = asyncio.run(Jobs().run("history", SENT, b"date\n" + b"\n" * 20_000, owner="a"))
    assert refused.status_code == 422


def test_a_job_that_takes_longer_than_it_may_is_refused():
    slow = Jobs({"history": FILES._replace(seconds=0.05)})
    with pytest.raises(Refused, match="send it in parts") as refused:
        asyncio.run(slow.run("history", SENT, FILE, owner="a"))
    assert refused.value.status == 422


def test_the_process_is_ended_when_no_one_waits_any_longer(monkeypatch):
    begun = []
    real = asyncio.create_subprocess_exec

    async def begin(*arguments, **more):
        begun.append(await real(*arguments, **more))
        return begun[0]

    async def leave():
        monkeypatch.setattr(asyncio, "create_subprocess_exec", begin)
        waiting = asyncio.create_task(Jobs().run("history", SENT, FILE, owner="a"))
        while not begun:
            await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

    asyncio.run(leave())
    assert begun[0].returncode is not None


def test_jobs_of_one_token_wait_for_each_other_and_not_for_those_of_others(monkeypatch):
    """As long as the first one of a token does not end, its second does not begin."""
    running, most = [], {}

    async def crowd():
        go_on = asyncio.Event()

        async def slow(self, kind, given, body):
            running.append(given["of"])
            most[given["of"]] = max(most.get(given["of"], 0), running.count(given["of"]))
            if given["of"] == "a":
                await go_on.wait()
            running.remove(given["of"])
            return send({})

        monkeypatch.setattr(Jobs, "_run", slow)
        shared = Jobs()
        waiting = [
            asyncio.create_task(shared.run("history", {"of": "a"}, owner="a")) for _ in range(3)
        ]
        await asyncio.sleep(0)
        await shared.run("history", {"of": "b"}, owner="b")
        go_on.set()
        await asyncio.gather(*waiting)

    asyncio.run(crowd())
    assert most == {"a": 1, "b": 1}


def test_only_some_may_wait(monkeypatch):
    monkeypatch.setattr(jobs, "MAX_WAITING_OF_ONE", 0)
    with pytest.raises(Refused, match="in progress") as refused:
        asyncio.run(Jobs().run("plan", {}, owner="a"))
    assert (refused.value.status, refused.value.headers) == (429, {"retry_after": "10"})


def one_text_in_many_rows():
    """A text of 1 MB, by dictionary, in 2,000 rows."""
    text = pa.array(["x" * 1_000_000])
    return pa.table({"bucket": pa.DictionaryArray.from_arrays([0] * 2_000, text)})


def long_list():
    return pa.table({"bucket": [1], "total": pa.array([[0] * 20_000_000])})


def long_text():
    return pa.table({"bucket": pa.array(["y" * 300_000_000])})


@pytest.mark.parametrize("bomb", [one_text_in_many_rows, long_list, long_text])
def test_a_small_parquet_file_that_unpacks_to_gigabytes_is_refused(service, campaign, bomb):
    file = io.BytesIO()
    pq.write_table(bomb(), file, compression="zstd")
    body = file.getvalue()
    assert len(body) < 200_000
    operator = service.as_("operate")
    operator.get(f"{campaign}/option?bucket=1")
    answers = []
    thread = threading.Thread(
        target=lambda: answers.append(operator.upload(campaign, body, PARQUET))
    )
    thread.start()
    while thread.is_alive():
        assert service.stranger.get("/livez").status_code == 200
        thread.join(0.05)
    assert answers[0].status_code == 422, answers[0].text
