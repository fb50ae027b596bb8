"""Webhooks hear of every change of health, signed, and only where they may be."""

import asyncio
import hashlib
import hmac
import ipaddress
import json
import socket
from datetime import UTC, datetime

import pytest
from service_settings import SETTINGS

from latesum import InvalidInput
from latesum.campaigns import Campaign, Store
from latesum.campaigns.health import Finding
from latesum.campaigns.view import Status
from latesum.service import webhooks
from latesum.service.webhooks import (
    Webhooks,
    check_address,
    message,
    present,
    resolve,
)

HERE = (ipaddress.ip_network("127.0.0.0/8"),)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "campaigns.db") as opened:
        for name in ("banner", "prices"):
            Campaign.create(name=name, **SETTINGS, store=opened)
        yield opened


@pytest.fixture
def webhook(store, receiver):
    return Webhooks(store, HERE).new("chat", f"http://127.0.0.1:{receiver.port}/hook", by="ada")


@pytest.fixture
def tell(store):
    """Tell all webhooks how the campaigns are."""
    webhooks = Webhooks(store, HERE, "https://latesum.example")
    return lambda *summaries: asyncio.run(webhooks.tell(summaries))


def summary(name="banner", health=(), winner=None, state="running"):
    headline = "The campaign is finished with blue: clear"
    return Status(name, state, headline, datetime.now(UTC), winner=winner, health=list(health))


def said(receiver):
    return [json.loads(body) for _, body, _ in receiver.taken]


STALE = Finding("learns nothing", "alarm", "No total has become usable for 6 days.")
LONG = Finding("paused long", "warning", "It has been paused for 9 days.")
FULL = Finding("store nearly full", "alarm", "The disk is nearly full.")


def test_what_is_said_of_a_change():
    well, ill = present(summary()), present(summary(health=[STALE]))
    assert message(well, summary(), None) is None
    found = message(well, summary(health=[STALE]), None)
    assert (found["health"], found["text"], found["link"]) == ("alarm", STALE.sentence, None)
    assert message(ill, summary(health=[STALE]), None) is None
    assert message(ill, summary(health=[STALE, LONG]), None)["text"] == LONG.sentence
    assert message(ill, summary(), None)["text"] == "All is well again."
    assert message(well, summary(winner="blue"), None)["text"] == "blue is the winner."
    over = message(present(summary(winner="blue")), summary(winner="blue", state="finished"), None)
    assert over["text"].startswith("The campaign is finished")


def test_of_a_campaign_that_is_new_only_what_is_wrong_is_said(tell, receiver, webhook):
    tell(summary(winner="blue", state="finished"), summary("prices", health=[STALE]))
    assert [each["campaign"] for each in said(receiver)] == ["prices"]


def test_a_change_is_told_signed_and_once(tell, receiver, webhook):
    tell(summary())
    tell(summary(health=[STALE]))
    tell(summary(health=[STALE]))
    ((headers, body, path),) = receiver.taken
    assert path == "/hook"
    signed = f"{headers['X-Latesum-Timestamp']}.{body}".encode()
    expected = hmac.new(webhook.secret.encode(), signed, hashlib.sha256).hexdigest()
    assert headers["X-Latesum-Signature"] == f"v1={expected}"
    assert said(receiver)[0]["link"] == "https://latesum.example/campaigns/banner"


def test_it_is_told_again_until_the_receiver_takes_it(tell, receiver, webhook):
    tell(summary(), summary("prices"))
    receiver.status = 500
    for _ in range(2):
        tell(summary(health=[STALE]), summary("prices", health=[LONG]))
    assert [each["campaign"] for each in said(receiver)] == ["banner", "banner"]
    assert len({each["id"] for each in said(receiver)}) == 1  # a repeat can be told by its id
    receiver.status = 200
    tell(summary(health=[STALE]), summary("prices", health=[LONG]))
    assert [each["campaign"] for each in said(receiver)[2:]] == ["banner", "prices"]
    tell(summary(health=[STALE]), summary("prices", health=[LONG]))
    assert len(receiver.taken) == 4
    receiver.status = 503
    tell(summary(health=[STALE, LONG]), summary("prices", health=[LONG]))
    receiver.status = 200
    tell(summary(health=[STALE]), summary("prices", health=[LONG]))
    assert len(receiver.taken) == 5  # what was over before the receiver was back is not told


def test_what_is_about_the_store_is_said_once_for_all_campaigns(tell, receiver, webhook):
    tell(summary(health=[FULL]), summary("prices", health=[FULL]))
    assert [each["campaign"] for each in said(receiver)] == ["banner"]


def test_a_receiver_that_never_answers_is_left_alone_and_told_again(
    tell, receiver, webhook, monkeypatch
):
    monkeypatch.setattr(webhooks, "MAX_SECONDS", 0.3)
    receiver.status = 0
    for _ in range(100):  # on a busy machine it may not hear of it in time
        tell(summary(health=[STALE]))
        if len(receiver.taken) == 2:
            break
    assert len(receiver.taken) == 2


@pytest.mark.parametrize(("status", "times"), [(202, 1), (302, 2)])
def test_an_answer_without_end_is_not_read_and_a_redirect_not_followed(
    tell, receiver, webhook, status, times
):
    receiver.status = status
    for _ in range(2):
        tell(summary(health=[STALE]))
    assert [path for _, _, path in receiver.taken] == ["/hook"] * times


def test_a_removed_webhook_hears_nothing_more(tell, store, receiver, webhook):
    Webhooks(store).remove(webhook.id)
    tell(summary(health=[STALE]))
    assert receiver.taken == []


def test_private_addresses_are_refused_unless_listed(store, receiver, webhook):
    problem = asyncio.run(Webhooks(store).post(webhook, {}))
    assert "over https only" in problem
    assert receiver.taken == []


def test_a_test_message_is_sent_at_once(make_service, receiver):
    admin = make_service(webhook_networks=("127.0.0.0/8",)).as_("admin")
    body = {"name": "own", "address": f"http://127.0.0.1:{receiver.port}/hook"}
    id = admin.post("/v1/webhooks", json=body).json()["id"]
    assert admin.post(f"/v1/webhooks/{id}/test").status_code == 204
    assert "a test" in said(receiver)[0]["text"]
    receiver.status = 404
    refused = admin.post(f"/v1/webhooks/{id}/test")
    assert refused.status_code == 409
    assert "it answered 404" in refused.json()["error"]


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("https://127.0.0.1/x", "not a public address"),
        ("https://10.1.2.3/x", "not a public address"),
        ("https://169.254.169.254/latest/meta-data", "not a public address"),
        ("https://[::1]/x", "not a public address"),
        ("https://[::ffff:127.0.0.1]/x", "not a public address"),
        ("https://0.0.0.0/x", "not a public address"),
        ("https://224.0.0.1/x", "not a public address"),
        ("https://[64:ff9b::7f00:1]/x", "not a public address"),
        ("https://[2002:7f00:1::]/x", "not a public address"),
        ("https://[fec0::1]/x", "not a public address"),
        ("https://[3fff::1]/x", "not a public address"),
        ("https://192.0.0.192/x", "not a public address"),
        ('https://"><script>/x', "letters, digits, dots and dashes"),
        ("http://example.com/x", "over https only"),
        ("ftp://example.com/x", "https://host/path"),
        ("https://user:word@example.com/x", "without a name or password"),
        ("https://exa mple.com/", "without spaces"),
        ("https:///x", "https://host/path"),
        ("https://example.com:99999/", "https://host/path"),
    ],
)
def test_addresses_that_are_refused(address, says):
    with pytest.raises(InvalidInput, match=says):
        check_address(address)


def test_a_name_is_judged_by_what_it_stands_for():
    parts = check_address("https://localhost/x")
    with pytest.raises(InvalidInput, match="not a public address"):
        asyncio.run(resolve(parts))
    listed = (*HERE, ipaddress.ip_network("::1/128"))
    assert asyncio.run(resolve(parts, listed)) in ("127.0.0.1", "::1")
    with pytest.raises(InvalidInput, match="cannot be found"):
        asyncio.run(resolve(check_address("https://no-such-name.invalid/x")))


def test_a_name_with_one_private_address_is_refused(monkeypatch):
    """No name server can be asked in a test: what it would answer is given."""
    found = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443))
        for address in ("93.184.216.34", "10.0.0.7")
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    with pytest.raises(InvalidInput, match="not a public address"):
        asyncio.run(resolve(check_address("https://hooks.example.com/x")))


def test_an_administrator_says_where_alerts_are_sent(service):
    admin = service.as_("admin")
    body = {"name": "chat", "address": "https://hooks.example.com/T0/secret"}
    made = admin.post("/v1/webhooks", json=body)
    assert made.status_code == 201
    listed = admin.get("/v1/webhooks").text
    assert "T0/secret" not in listed
    assert made.json()["secret"] not in listed
    id = made.json()["id"]
    assert admin.post(f"/v1/webhooks/{id}/remove").status_code == 204
    assert admin.post(f"/v1/webhooks/{id}/remove").status_code == 404
    assert admin.post(f"/v1/webhooks/{id}/test").status_code == 404
    assert admin.get("/v1/webhooks").json() == {"webhooks": []}
    private = {**body, "address": "https://192.168.0.1/x"}
    assert admin.post("/v1/webhooks", json=private).status_code == 422
    assert service.as_("operate").post("/v1/webhooks", json=body).status_code == 403


def test_a_running_service_tells_of_a_finished_campaign(make_service, receiver):
    service = make_service(webhook_networks=("127.0.0.0/8",), watch_every=0.05)
    admin = service.as_("admin")
    body = {"name": "own", "address": f"http://127.0.0.1:{receiver.port}/hook"}
    assert admin.post("/v1/webhooks", json=body).status_code == 201
    assert admin.put("/v1/campaigns/banner", json=SETTINGS).status_code == 201
    admin.get("/v1/campaigns/banner/option")
    with service.store.engine.connect() as connection:
        for _ in range(6000):  # until it was seen once
            if "banner" in connection.exec_driver_sql("SELECT delivered FROM webhooks").scalar():
                break
            connection.rollback()
            receiver.wait.wait(0.02)
    admin.post(
        "/v1/campaigns/banner/actions/finish", json={"reason": "it is clear", "option": "blue"}
    )
    for _ in range(6000):
        if receiver.taken:
            break
        receiver.wait.wait(0.02)
    said = json.loads(receiver.taken[0][1])
    assert (said["state"], said["campaign"]) == ("finished", "banner")
    assert "blue: it is clear" in said["text"]


def test_check_exits_with_1_and_says_why(latesum, store, clock, monkeypatch):
    place = ("campaign", "--store", store.url.database)
    assert latesum(*place, "check") == (0, "", "")
    config = {**SETTINGS, "start": "2026-03-02"}
    Campaign.create(name="daily", **config, store=store, clock=clock).decide()
    later = ("campaign", "--store", store.url.database, "--now", "2026-03-12 08:00")
    code, said, _ = latesum(*later, "check")
    assert code == 1
    assert said.startswith("daily: ")
    assert "days were not asked for" in said
    assert latesum(*later, "check", "banner")[0] == 0
    found = json.loads(latesum(*later, "check", "daily", "--json")[1])
    assert found[0]["campaign"] == "daily"


def test_sessions_and_webhooks_on_both_kinds_of_database(store_address):
    from datetime import timedelta

    from latesum.service.tokens import Tokens

    with Store(store_address) as store:
        tokens = Tokens(store)
        secret = tokens.new_session(tokens.find(tokens.new("ada", "admin")), timedelta(hours=1))
        assert tokens.find_session(secret).name == "ada"
        tokens.end_session(secret)
        assert tokens.find_session(secret) is None
        kept = Webhooks(store)
        made = kept.new("chat", "https://hooks.example.com/x", by="ada")
        kept.keep_delivered(made, '{"banner": 1}')
        kept.keep_delivered(made, "{}")  # another service was faster
        assert [each.delivered for each in kept.all()] == ['{"banner": 1}']


@pytest.mark.parametrize("networks", [(), (ipaddress.ip_network("10.0.0.0/8"),)])
def test_alerts_to_public_addresses_are_encrypted(networks):
    with pytest.raises(InvalidInput, match="https only"):
        check_address("http://93.184.216.34/alerts", networks)
