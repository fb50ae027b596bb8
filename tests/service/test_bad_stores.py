"""A store that is damaged, full, busy or can only be read: 503 with a sentence of its own."""

import pytest
from service_settings import SETTINGS
from sqlalchemy import event

from latesum.campaigns.store import failure_text


def refusals(client, campaign="/v1/campaigns/banner"):
    """What is said to a question for readiness, and to a write."""
    answers = [client.get("/readyz"), client.put(f"{campaign}/buckets/1", json={"total": 1})]
    assert [each.status_code for each in answers] == [503, 503], answers
    return [each.json()["error"] for each in answers]


@pytest.fixture
def service(make_service):
    service = make_service()
    client = service.as_("operate")
    assert client.put("/v1/campaigns/banner", json=SETTINGS).status_code == 201
    assert client.get("/v1/campaigns/banner/option").status_code == 200
    return service


def test_a_damaged_store(service):
    with service.store.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    service.store.engine.dispose()
    file = service.store.url.database
    whole = bytearray(open(file, "rb").read())  # noqa: PTH123, SIM115
    whole[4096:] = bytes(i * 7 % 256 for i in range(len(whole) - 4096))
    with open(file, "wb") as written:  # noqa: PTH123
        written.write(whole)
    for sentence in refusals(service.as_("operate")):
        assert "damaged" in sentence
        assert "go back to a copy" in sentence
    login = service.stranger.post("/login", data={"token": "latesum_other"})
    assert (login.status_code, "damaged" in login.json()["error"]) == (503, True)


def test_a_store_whose_place_became_read_only(service):
    service.store.engine.dispose()
    event.listen(
        service.store.engine, "connect", lambda each, _: each.execute("PRAGMA query_only = ON")
    )
    for sentence in refusals(service.as_("operate")):
        assert "read-only" in sentence
    assert service.as_("operate").get("/v1/campaigns/banner/status").status_code == 200


def test_a_full_disk(service):
    with service.store.engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
    service.store.engine.dispose()
    event.listen(
        service.store.engine,
        "connect",
        lambda each, _: each.execute(f"PRAGMA max_page_count = {pages}"),
    )
    client = service.as_("operate")
    for number in range(100):
        act = ("pause", "resume")[number % 2]
        answer = client.post(f"/v1/campaigns/banner/actions/{act}", json={"reason": "x" * 900})
        if answer.status_code == 503:
            break
    assert "The disk is full" in answer.json()["error"]
    assert client.get("/v1/campaigns/banner/history").status_code == 200


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("database is locked", "busy"),
        ("disk I/O error", "The disk fails"),
        ("connection to server at 'db' failed", "cannot be used"),
        ("could not extend file: No space left on device", "The disk is full"),
        ("cannot execute UPDATE in a read-only transaction", "read-only"),
    ],
)
def test_what_databases_say_has_a_sentence(said, sentence):
    assert sentence in failure_text(RuntimeError(said))


def test_no_refusal_speaks_of_the_library_that_found_it(service):
    client = service.as_("operate")
    one = "/v1/campaigns/banner"
    answers = [
        client.put(f"{one}/buckets/1", json={"total": "3"}),
        client.put(f"{one}/buckets/1", json={"totl": 3}),
        client.put(f"{one}/buckets/1", json={"rounds": -1}),
        client.put(f"{one}/buckets/1", json={"rounds": 1.5}),
        client.put(f"{one}/buckets/1", json={"status": "sure"}),
        client.put(f"{one}/buckets/1", json=[1]),
        client.put(f"{one}/buckets/1", json={"overwrite_final": 1}),
        client.put(f"{one}/buckets/{'1' * 50}", json={"total": 1}),
        client.put(f"{one}/buckets/1"),
        client.put(
            f"{one}/buckets/1", content=b'{"total": 1', headers={"Content-Type": "application/json"}
        ),
        client.post(f"{one}/actions/pause", json={}),
        client.post(f"{one}/actions/pause", json={"reason": ""}),
        client.post(f"{one}/actions/pause", json={"reason": "x" * 2000}),
        client.post(f"{one}/actions/pin", json={"reason": "x", "option": "red", "buckets": 0}),
        client.post(f"{one}/actions/change", json={"reason": "x", "config": 3}),
        client.post(
            f"{one}/actions/pause", json={"reason": "x"}, headers={"Idempotency-Key": "short"}
        ),
        client.get(f"{one}/buckets", params={"format": "xls"}),
        client.get(f"{one}/history", params={"limit": "many"}),
        client.get("/v1/campaigns/%20/status"),
        client.post(
            f"{one}/totals", json={"rows": [{"bucket": 1, "total": "3"}, {"bucket": None}]}
        ),
        client.put("/v1/campaigns/new", json={"options": 3}),
        client.put("/v1/campaigns/new", json=["x"]),
    ]
    for answer in answers:
        assert answer.status_code in (404, 422), answer.text
        said = answer.json()
        for sentence in [said["error"], *said["details"]]:
            assert not any(
                word in sentence
                for word in ("Input should", "Field required", "pydantic", "String should", "Extra")
            ), sentence
            assert sentence.endswith(".")
    bad = client.put(
        f"{one}/buckets/1",
        content=b'{"total": "\xff"}',
        headers={"Content-Type": "application/json"},
    )
    assert bad.status_code == 400
    assert "UTF-8" in bad.json()["error"]
