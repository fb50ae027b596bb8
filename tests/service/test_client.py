"""The client: it asks again when an answer is lost, and nothing is done twice."""

import socket

import httpx
import pytest
from service_settings import SETTINGS

from latesum._checks import InvalidInput
from latesum.errors import ServiceError, Unreachable
from latesum.service import client as client_module
from latesum.service.client import Client


class Unlucky(httpx.BaseTransport):
    """A way to the service on which answers are lost, after the service has done its work."""

    def __init__(self, service, lost=0):
        self.service = service
        self.lost = lost
        self.sent = []

    def handle_request(self, request):
        self.sent.append(request)
        headers = dict(request.headers)
        answer = self.service.stranger.request(
            request.method,
            str(request.url.copy_with(scheme=None, host=None, port=None)),
            content=request.read(),
            headers=headers,
        )
        if self.lost:
            self.lost -= 1
            raise httpx.ReadError("the connection was lost")
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)


@pytest.fixture
def way(service):
    return Unlucky(service)


@pytest.fixture
def client(service, way):
    with Client(
        "http://service", service.secrets["operate"], transport=way, sleep=lambda _: None
    ) as c:
        c.send("PUT", "/v1/campaigns/banner", json=SETTINGS)
        yield c


def act(client, action, **arguments):
    body = {"reason": "a test", **arguments}
    return client.send("POST", f"/v1/campaigns/banner/actions/{action}", json=body)


def kinds(client):
    return [each["kind"] for each in client.send("GET", "/v1/campaigns/banner/history")["events"]]


def test_a_campaign_with_regions(client):
    config = {
        "options": ["red", "blue"],
        "regions": ["north", "south"],
        "expected_rounds": 1000,
        "every": "day",
        "time_basis": "arrival",
        "seed": 1,
    }
    client.send("PUT", "/v1/campaigns/regional", json=config)
    shown = {client.option("regional", region=each)["option"] for each in ("north", "south")}
    assert shown == {"red", "blue"}  # the sweep shows both
    assert client.record("regional", 1, region="north", rounds=900, total=30)["verdict"] == "new"
    with pytest.raises(ServiceError, match="say which region"):
        client.option("regional")


def test_the_whole_round(client, tmp_path):
    shown = client.option("banner", 1)
    assert (shown["option"], shown["bucket"], shown["fallback"]) == ("red", 1, False)
    assert client.record("banner", 1, rounds=1000, total=300)["verdict"] == "new"
    assert client.option("banner", 2)["bucket"] == 2
    assert client.upload("banner", [{"bucket": 2, "total": 9}])[0]["verdict"] == "new"
    file = tmp_path / "totals.csv"
    file.write_text("bucket;Besucher;total\n2;900;310,5\n")
    how = {"columns": "rounds=Besucher", "decimal": ","}
    row = client.upload("banner", file, **how, dry_run=True)[0]
    assert (row["verdict"], row["rounds"], row["total"]) == ("revised", 900, 310.5)
    assert (row["was_total"], row["region"]) == (9, "")
    assert "file form" not in kinds(client)
    client.upload("banner", file, **how)
    assert client.send("GET", "/v1/campaigns/banner/status")["state"] == "running"
    act(client, "finish")
    assert kinds(client)[-2:] == ["file form", "finish"]


def test_lost_answers_are_asked_for_again_and_nothing_is_done_twice(client, way):
    def losing(call, *arguments, **more):
        way.lost = 3
        return call(*arguments, **more)

    losing(client.send, "PUT", "/v1/campaigns/banner", json=SETTINGS)
    losing(client.option, "banner", 1)
    assert losing(client.record, "banner", 1, total=3)["verdict"] == "same"  # the fourth time it is
    losing(act, client, "pause")
    losing(act, client, "pin", option="red")
    assert kinds(client) == ["decision", "record", "pause", "pin"]


def test_refusals_are_raised_at_once_with_their_sentence(client, way):
    way.sent.clear()
    with pytest.raises(ServiceError, match="2126-03-02 is in the future") as refused:
        client.record("banner", "2126-03-02", total=3)
    assert refused.value.status == 404
    assert len(way.sent) == 1
    with pytest.raises(ServiceError, match="nothing was written") as refused:
        client.upload("banner", [{"bucket": "2126-03-02", "total": 3}])
    assert "row 1" in refused.value.details[0]


def test_what_cannot_be_reached_has_a_fallback(service):
    class Nowhere(httpx.BaseTransport):
        def handle_request(self, request):
            raise httpx.ConnectError("refused")

    waits = []
    client = Client("http://x", "t", attempts=4, transport=Nowhere(), sleep=waits.append)
    with pytest.raises(Unreachable, match="asked 4 times"):
        client.option("banner")
    assert len(waits) == 3
    assert waits == sorted(waits) or waits[-1] > 0.1  # the pauses grow, apart from chance
    assert client.option("banner", fallback="red")["fallback"]
    asked = len(waits)
    assert client.option("banner", fallback="blue") == {"option": "blue", "fallback": True}
    assert len(waits) == asked  # it was not asked again so soon


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (httpx.Response(302, headers={"location": "https://login.example"}), "302 with no content"),
        (httpx.Response(200, html="<html>Back soon</html>"), "200 with text/html"),
        (httpx.Response(200, json={"something": "else"}), "another service has answered"),
        (httpx.Response(404, html="<html>No such site</html>"), "404 with text/html"),
        (httpx.Response(500, json={"error": "an error of ours.", "details": []}), "of ours"),
    ],
    ids=["redirect", "page", "other json", "page 404", "500"],
)
def test_what_is_no_answer_of_the_service_has_a_fallback(answer, says):
    with Client("http://x", "t", transport=httpx.MockTransport(lambda _: answer)) as client:
        assert client.option("banner", fallback="red") == {"option": "red", "fallback": True}
        with pytest.raises(ServiceError, match=says):
            client.option("banner")


def test_a_refusal_is_raised_although_there_is_a_fallback(client):
    with pytest.raises(ServiceError, match="no campaign 'other'"):
        client.option("other", fallback="red")


def test_a_fallback_does_not_wait_for_a_service_that_only_listens(monkeypatch):
    """It takes connections and never answers; after the time for an answer the fallback is shown."""
    assert 2 * client_module._FALLBACK_AFTER < 1  # to connect, and to wait for the answer
    silent = socket.create_server(("127.0.0.1", 0))
    monkeypatch.setattr(client_module, "_FALLBACK_AFTER", 0.05)
    with silent, Client(f"http://127.0.0.1:{silent.getsockname()[1]}", "t", timeout=60) as client:
        assert client.option("banner", fallback="red") == {"option": "red", "fallback": True}


def test_an_option_is_kept_for_as_long_as_the_service_says(service, way, client):
    client.send("PUT", "/v1/campaigns/daily", json=SETTINGS)
    way.sent.clear()
    assert client.option("daily") == client.option("daily") == client.option("daily")
    assert len(way.sent) == 1


def test_a_token_is_needed_and_may_come_from_the_environment(monkeypatch):
    monkeypatch.delenv("LATESUM_TOKEN", raising=False)
    with pytest.raises(InvalidInput, match="LATESUM_TOKEN"):
        Client("http://x")
    monkeypatch.setenv("LATESUM_TOKEN", "latesum_x")
    Client("http://x").close()
