"""Uploads are bounded, decisions do not wait for them, and they end when their clients leave."""

import io
import itertools
import json
import re
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from service_process import ServiceProcess
from service_settings import SETTINGS

from latesum.campaigns import Campaign, Store
from latesum.errors import InvalidInput, MissingExtra
from latesum.files import sources
from latesum.service import Tokens, jobs
from latesum.service.errors import Refused, refusal_of

PATH = "/v1/campaigns/banner"
BUCKETS = 200
CSV = {"Content-Type": "text/csv"}
JSON = {"Content-Type": "application/json"}
EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PARQUET = "application/vnd.apache.parquet"
WIDE = (
    "bucket,total," + ",".join(f"c{n}" for n in range(20_000)) + "\n1,1" + ",7" * 20_000
).encode()


_numbers = itertools.count(1)


@pytest.fixture
def service(lasting_service):
    return lasting_service


@pytest.fixture
def campaign(operator):
    """A new campaign."""
    path = f"{PATH}-{next(_numbers)}"
    assert operator.put(path, json=SETTINGS).status_code == 201
    return path


def parquet(**columns):
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


def test_an_upload_has_at_most_10000_rows(operator, campaign, monkeypatch):
    assert jobs.MAX_ROWS == 10_000
    monkeypatch.setattr(jobs, "MAX_ROWS", 2)
    operator.get(f"{campaign}/option?bucket=1")
    file, rows = "bucket,total\n1,7\n1,7\n", {"rows": [{"bucket": 1, "total": 7}] * 3}
    assert operator.upload(campaign, file).status_code == 200
    for refused in (
        operator.upload(campaign, file + "1,7\n"),
        operator.post(f"{campaign}/totals", json=rows),
    ):
        assert refused.status_code == 422
        assert re.search("more than 2 rows|1 to 2 of them", refused.json()["error"])
    for packed in (
        parquet(bucket=[1] * 3, total=[7] * 3),
        excel([["bucket", "total"], *[[1, 7]] * 3]),
    ):
        with pytest.raises(InvalidInput, match="more than 2 rows"):
            jobs.KINDS["history"]({"form": {}}, packed)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (
            [{"bucket": 1, **{f"f{n}": 1 for n in range(50_000)}}],
            "row 1, column f0: there is no column",
        ),
        (
            [{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}] * 10_000,
            "row 1, column a: there is no column",
        ),
        ([{"x" * 900_000: 1}], "row 1, column xxx"),
        ([{"bucket": 1, "total": 1}, {"bucket": 2, "total": "x"}], "row 2, column total: "),
        (
            [{"bucket": 1, "total": 1}, {"bucket": 2, "rounds": 5, "total": 9}],
            "row 2, column total: a total of 9 is more than 5",
        ),
    ],
)
def test_a_body_that_is_wrong_everywhere_is_refused_in_short(
    service, operator, campaign, rows, says
):
    with Campaign.open(campaign.rpartition("/")[2], store=service.store) as opened:
        opened.decide(1)
        opened.decide(2)
        body = json.dumps({"rows": rows}).encode()
        with pytest.raises(Refused) as refused:
            jobs.take_totals(opened, body, True, None, {"skip_unknown": False, "dry_run": False})
    answer = refused.value.answer()
    assert answer.status_code == 422
    assert json.loads(answer.body)["error"].startswith(says)
    assert len(answer.body) < 5_000


def test_only_an_upload_may_be_large(operator, campaign):
    body = b'{"total": 1' + b" " * 100_000 + b"}"
    answer = operator.put(f"{campaign}/buckets/1", content=body, headers=JSON)
    assert answer.status_code == 413
    assert answer.json()["error"] == "the body is larger than 100,000 bytes; send it in parts."
    assert operator.upload(campaign, body, JSON["Content-Type"]).status_code == 422


def test_decisions_and_records_do_not_wait_for_uploads(operator, campaign, monkeypatch):
    """Eight uploads that do not end, on the threads that work on uploads."""
    begun, go_on, real = threading.Event(), threading.Event(), jobs.import_totals

    def slow(*arguments, **more):
        begun.set()
        assert go_on.wait(300)
        return real(*arguments, **more)

    monkeypatch.setattr(jobs, "import_totals", slow)
    operator.get(f"{campaign}/option?bucket=1")

    def send():
        return operator.upload(campaign, "bucket,total\n1,7\n")

    with ThreadPoolExecutor(8) as threads:
        try:
            sent = [threads.submit(send) for _ in range(8)]
            assert begun.wait(300)
            time.sleep(0.1)  # the others are on their way
            asked = in_a_thread(
                lambda: [
                    operator.put(f"{campaign}/buckets/1", json={"total": 5}).json()["verdict"],
                    operator.get(f"{campaign}/option?bucket=2").json()["bucket"],
                    operator.get(f"{campaign}/status").status_code,
                ]
            )
        finally:
            go_on.set()
        assert asked == ["new", 2, 200]
        assert sorted(each.result().status_code for each in sent) == [200] * 8


def in_a_thread(work):
    """What comes of work that might never end."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    thread.join(120)
    return found[0] if found else "no answer"


@pytest.fixture(scope="module")
def decided(tmp_path_factory):
    """A store with a campaign of some decided buckets, and a token to record."""
    address = tmp_path_factory.mktemp("decided") / "campaigns.db"
    with Store(address) as store:
        secret = Tokens(store).new("shop", "record")
        config = {**SETTINGS, "start": "2000-01-01", "expected_rounds": 10, "store": store}
        campaign = Campaign.create(name="banner", **config)
        for bucket in range(1, BUCKETS + 1):
            campaign.decide(bucket)
    return address, secret


@pytest.fixture
def served(tmp_path, decided):
    """A service as a process, with a copy of that store."""
    original, secret = decided
    address = tmp_path / "campaigns.db"
    shutil.copy(original, address)
    with ServiceProcess(address) as service:
        service.secret = secret
        yield service


def request(service, method, path, body=b"", kind="text/csv", length=None):
    """A request as it goes over the wire."""
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: latesum",
        f"Authorization: Bearer {service.secret}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body) if length is None else length}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def ask(service, method, path, body=b""):
    """The status and the content of an answer."""
    kind = JSON if method == "PUT" else CSV
    headers = {"Authorization": f"Bearer {service.secret}", **kind}
    answer = httpx.request(method, service.url + path, content=body, headers=headers, timeout=120)
    return answer.status_code, answer.text


def leave_behind(service, sent):
    """Send this and leave, once the service has heard it."""
    with service.connect() as connection:
        connection.sendall(sent)
        assert ask(service, "GET", "/livez")[0] == 200


def left(service):
    """How many uploads the service gave up because their clients had left."""
    _, figures = ask(service, "GET", "/metrics")
    return sum(
        int(float(line.split()[-1]))
        for line in figures.splitlines()  # of the route, or before there was one
        if line.startswith("latesum_requests_total") and 'status="499"' in line
    )


def wait_for(what, seconds=300):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


def written(service):
    _, content = ask(service, "GET", f"{PATH}/history?after={BUCKETS}")
    return [event["bucket"] for event in json.loads(content)["events"]]


def file_of(rows):
    return "bucket,total\n" + "".join(f"{n % BUCKETS + 1},7\n" for n in range(rows))


LARGE = file_of(10_000)


def test_the_work_ends_when_the_client_leaves(served):
    path = f"{PATH}/totals"
    for _ in range(4):
        leave_behind(served, request(served, "POST", path, LARGE.encode()))
    wait_for(lambda: left(served) == 4)
    assert written(served) == []
    assert ask(served, "POST", path, b"bucket,total\n1,7\n")[0] == 200
    assert written(served) == [1]


def test_a_part_of_a_body_is_not_taken_for_the_whole(served):
    path = f"{PATH}/totals"
    part = b"bucket,total\n1,7\n2,1"  # of 12
    leave_behind(served, request(served, "POST", path, part, length=len(part) + 2))
    wait_for(lambda: left(served) == 1)
    assert written(served) == []


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(file_of(2_500).encode(), id="2500 rows"),
        pytest.param(WIDE, id="wide", marks=pytest.mark.slow),
        pytest.param(LARGE.encode(), id="10000 rows", marks=pytest.mark.slow),
    ],
)
def test_options_are_given_while_four_uploads_are_read(served, file):
    """Asked for the next bucket again and again, so that all are decided."""
    done = []

    def upload():
        status, _ = ask(served, "POST", f"{PATH}/totals?dry_run=true", file)
        done.append(status)

    threads = [threading.Thread(target=upload) for _ in range(4)]
    for thread in threads:
        thread.start()
    given = []
    while len(done) < 4 or len(given) < 3:
        bucket = BUCKETS + len(given) + 1
        status, content = ask(served, "GET", f"{PATH}/option?bucket={bucket}")
        assert status == 200
        given.append((json.loads(content)["bucket"], len(done)))
        assert ask(served, "PUT", f"{PATH}/buckets/{given[-1][0]}", b'{"total": 1}')[0] == 200
        time.sleep(0.02)
    for thread in threads:
        thread.join()
    assert [bucket for bucket, _ in given] == list(range(BUCKETS + 1, BUCKETS + 1 + len(given)))
    assert done == [422 if file == WIDE else 200] * 4
    if file != WIDE:
        assert given[0][1] < 4, "an option waited until all files were read"


@pytest.mark.parametrize(
    ("file", "remedy"),
    [
        ("bucket,cost\n1,7\n", "set columns to rounds=NAME,total=NAME."),
        ("bucket,total\n1,7\n1,8\n", "add up rows of the same bucket"),
        ("bucket,rounds,total\n1,7,9\n", "allow it to be beyond the range."),
        ('bucket;total\n1;"1,234"\n', "set the decimal mark to '.' or ','"),
        (WIDE, "at most 100 columns"),
    ],
)
def test_a_refused_file_says_what_to_do_without_options_of_the_command_line(
    operator, campaign, file, remedy
):
    operator.get(f"{campaign}/option?bucket=1")
    answer = operator.upload(campaign, file)
    assert answer.status_code == 422
    said = " ".join([answer.json()["error"], *answer.json()["details"]])
    assert remedy in said
    assert " --" not in said


def test_a_single_total_that_is_final_says_how_to_correct_it(operator, campaign):
    operator.get(f"{campaign}/option?bucket=1")
    bucket = f"{campaign}/buckets/1"
    assert operator.put(bucket, json={"rounds": 9, "total": 3, "status": "final"}).is_success
    refused = operator.put(bucket, json={"total": 4})
    assert refused.status_code == 409
    assert "allow changes of final values" in refused.json()["error"]
    corrected = operator.put(bucket, json={"total": 4, "overwrite_final": True})
    assert corrected.json()["verdict"] == "revised"


def excel(rows):
    made, file = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        made.active.append(row)
    made.save(file)
    return file.getvalue()


def test_a_file_says_how_it_is_written_and_the_campaign_remembers(operator, campaign):
    operator.get(f"{campaign}/option?bucket=1")
    file = "A report\nday;Klicks;Umsatz\n1;1.000;300,5\nSumme;1.000;300,5\n"
    form = {"columns": "rounds=Klicks,total=Umsatz", "decimal": ","}
    answer = operator.upload(campaign, file, **form).json()
    assert answer["written"]
    assert answer["notes"] == ["Left out as totals of other rows: 4 (Summe)."]
    again = operator.upload(campaign, file).json()
    assert [row["verdict"] for row in again["rows"]] == ["same"]
    timeline = operator.get(f"{campaign}/status").json()["timeline"]
    assert (timeline[0]["rounds"], timeline[0]["total"]) == (1000, 300.5)
    wrong = {"decimal": "x", "date_format": "x", "columns": "rounds"}
    for name, value in wrong.items():
        assert operator.upload(campaign, file, **{name: value}).status_code == 422
    rows = '{"rows": [{"bucket": 1, "total": 300.5}]}'
    assert operator.upload(campaign, rows, JSON["Content-Type"], decimal=",").status_code == 422


def test_excel_and_parquet_files_are_taken_in(operator, campaign):
    operator.get(f"{campaign}/option?bucket=1")
    book = excel([["bucket", "rounds", "total"], [1, 1000, 300.5]])
    file = parquet(bucket=[1], rounds=[1000], total=[300.5])
    for body, kind, verdict in ((book, EXCEL, "new"), (file, PARQUET, "same")):
        assert operator.upload(campaign, body, kind).json()["rows"][0]["verdict"] == verdict
    for start in (b"PK\x03\x04", b"PAR1"):
        with pytest.raises(InvalidInput, match="cannot be read"):
            jobs.KINDS["history"]({"form": {}}, start + b"x" * 100)


@pytest.mark.parametrize("body", [b"PK\x03\x04", b"PAR1"], ids=["excel", "parquet"])
def test_a_service_without_the_library_says_so(body, monkeypatch):
    def missing(*extras):
        raise MissingExtra("this needs a library")

    monkeypatch.setattr(sources, "need", missing)
    with pytest.raises(MissingExtra) as missed:
        jobs.KINDS["history"]({"form": {}}, body)
    refused = refusal_of(missed.value)
    assert (refused.status, "this needs a library" in str(refused)) == (415, True)


def test_what_a_process_of_its_own_takes_in_is_seen_by_the_service(operator, campaign):
    """A file that is too large for a thread: new values, a refusal with its verdicts, one that is unknown."""
    for bucket in range(1, 31):
        operator.get(f"{campaign}/option", params={"bucket": bucket})
    rows = "".join(f"{n},7\n" for n in range(1, 31))
    file = "bucket,total\n" + rows + "\n" * 20_000
    first = operator.upload(campaign, file)
    assert first.status_code == 200, first.text
    assert {row["verdict"] for row in first.json()["rows"]} == {"new"}
    assert operator.get(f"{campaign}/status").json()["timeline"][29]["total"] == 7
    unknown = operator.upload(campaign, file + "9999,1\n")
    assert unknown.status_code == 409
    assert unknown.json()["details"][0].startswith("row ")
    assert operator.upload("/v1/campaigns/no", file).status_code == 404
    refused = operator.upload(campaign, "bucket,cost\n" + rows + "\n" * 20_000)
    assert "set columns to rounds=NAME,total=NAME." in refused.json()["details"][0]
