"""A campaign by the page alone, from its plan to its winner, in a real browser."""

import re
from datetime import timedelta

import numpy as np
import pytest
from browsing import LOOKS, Days, Visitor, running_site, violations

from latesum.campaigns import Campaign, Row
from latesum.service.routes import plans
from latesum.simulation import Problem


@pytest.fixture(scope="module")
def clock():
    return Days()


@pytest.fixture(scope="module")
def site(tmp_path_factory, clock):
    with running_site(tmp_path_factory.mktemp("site"), clock) as running:
        yield running


@pytest.fixture(scope="module")
def admin(browser, site):
    visitor = Visitor(browser, site.address, site.secrets["admin"])
    yield visitor
    visitor.context.close()


@pytest.fixture
def visitor(admin):
    """Someone who may do everything, at a desk, on the list of campaigns."""
    admin.look(*LOOKS[0])
    admin.goto("/")
    admin.complaints.clear()
    admin.foreign.clear()
    yield admin
    assert admin.complaints == []
    assert admin.foreign == []


def set_up(visitor, name, options="red\nblue"):
    """Set up a campaign without a plan."""
    page = visitor.page
    visitor.goto("/new")
    page.fill("#new-name", name)
    page.fill("#new-options", options)
    page.select_option("#new-before", "first")
    page.fill("#new-rounds", "5000")
    page.check("input[value=arrival]")
    page.click("#new-form button.main")
    page.wait_for_selector("#now[data-state=running]")


CHARTS = ("timeline-chart", "totals-chart", "estimates-chart")
#: What the bars of the timeline say of themselves when they are pointed at.
BARS = "[...document.querySelectorAll('#timeline-chart title')].map((each) => each.textContent)"


def is_drawn(page, chart):
    """Whether a chart has bars that can be seen."""
    script = """id => [...document.querySelectorAll(`#${id} .bar`)].map((bar) => {
        const { width, height } = bar.getBoundingClientRect();
        return Math.min(width, height);
    })"""
    sizes = page.evaluate(script, chart)
    return bool(sizes) and min(sizes) > 0


def test_the_page_follows_a_campaign_without_being_loaded_again(browser, site, clock):
    campaign = grown(site, clock, "followed", days=4)
    visitor = Visitor(browser, site.address, site.secrets["operate"])
    page = visitor.page
    visitor.goto("/campaigns/followed")
    loaded = page.evaluate("performance.timeOrigin")
    assert is_drawn(page, "timeline-chart")
    assert not any("ordered by a person" in each for each in page.evaluate(BARS))
    visitor.act("pause", "a look at it", "#now[data-state=paused]")
    assert page.locator("[data-action=pause]").is_hidden()
    told = page.locator("#people li").first.text_content()
    assert told.endswith("paused the campaign: a look at it")
    clock.day += 1
    campaign.clock = clock
    campaign.decide()
    page.wait_for_function(f"() => {BARS}.some((each) => each.includes('ordered by a person'))")
    assert page.locator("#announce").text_content() != ""
    assert page.evaluate("performance.timeOrigin") == loaded
    visitor.look("light", 390, 844)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert visitor.complaints == visitor.foreign == []
    page.click("#logout")
    page.wait_for_selector("#token")
    assert visitor.context.cookies() == []
    visitor.context.close()


def test_it_works_with_the_keyboard_alone(visitor, site, clock):
    grown(site, clock, "keyed", days=4)
    page = visitor.page
    visitor.goto("/?search=keyed")
    page.locator("#campaigns a").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-action=pin]")
    page.locator("[data-action=pin]").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "option"
    page.keyboard.press("Escape")
    page.wait_for_selector("#dialog", state="hidden")
    page.keyboard.press("Enter")  # the focus is back on the button
    page.keyboard.type("b")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type("for the window display")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=pinned blue for 1 day: for the window display")
    page.locator(".scroll").first.focus()
    Campaign.open("keyed", store=site.store, clock=clock).pause(user="ada", reason="a look")
    page.wait_for_selector("text=paused the campaign: a look")  # the page was brought up to date
    assert page.evaluate("document.activeElement.className").startswith("scroll")


def test_the_page_as_a_file_draws_its_charts_without_anything_else(browser, site, clock, tmp_path):
    from latesum.campaigns.static_page import status_html

    campaign = grown(site, clock, "sent", days=6, options=("<i>red</i>", "blue"))
    (tmp_path / "page.html").write_text(status_html(campaign.status()), encoding="utf-8")
    context = browser.new_context(offline=True)
    page, complaints = context.new_page(), []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text))
    page.goto((tmp_path / "page.html").as_uri())
    assert all(is_drawn(page, chart) for chart in CHARTS)
    assert "<i>red</i>" in page.inner_text("#options")
    assert complaints == []
    context.close()


def test_from_a_plan_to_a_winner(browser, site, clock, tmp_path, monkeypatch):
    """By the page, apart from most of the days, whose totals nobody would type."""
    monkeypatch.setattr(plans, "REPLICATIONS", 20)
    visitor = Visitor(browser, site.address, site.secrets["operate"])
    page, first_day = visitor.page, clock().date().isoformat()
    page.click("nav >> text=Plan")
    page.locator("#plan-rate").fill("32")  # a campaign that is soon decided
    page.click("#plan-form button.main")
    visitor.wait_for("#verdict [aria-label=Verdict]", 320)
    assert page.inner_text("#verdict .answer").startswith("Go")
    assert "all new options are worse" in page.inner_text("#verdict")
    visitor.check_look()
    page.locator("#plan-traffic").fill("8000")  # what is shown is the answer to other inputs now
    assert page.locator("#set-up").is_hidden()
    assert "simulate again" in page.inner_text("#verdict .outdated")
    page.click("#plan-form button.main")
    visitor.wait_for("#verdict [aria-label=Verdict]", 320)
    visitor.follow("#set-up")
    assert "As planned: the method is unmix" in page.inner_text(".note")
    page.fill("#new-name", "banner")
    page.fill("#new-options", "red\nblue")
    page.check("input[value=arrival]")
    page.click("#new-form button.main")
    visitor.wait_for("#now[data-state=running]")

    campaign = Campaign.open("banner", store=site.store, clock=clock)
    world = Problem([0.2, 0.7], "exponential(4000)").start(
        rng=np.random.default_rng(1), status_quo=0
    )

    def show(option):
        """What arrives in a day that shows an option, as a row of a file."""
        label, total = clock().date(), world.play(("red", "blue").index(option), 5000)
        clock.day += 1
        return f"{label},5000,{total:.0f}"

    rows = [show(page.inner_text("#now .big").split()[0])]
    page.click("text=Import totals")  # the first total is typed, the others come as a file
    assert page.input_value("#record-bucket") == first_day
    page.fill("#record-rounds", "5000")
    page.fill("#record-total", rows[0].split(",")[2])
    page.click('#record-form button:has-text("Store it")')
    page.wait_for_selector(f"#record-form .done >> text={first_day}: new")
    visitor.goto("/campaigns/banner")
    page.click("[data-decide]")
    page.wait_for_selector("[data-decide]", state="detached")
    rows += [show(page.inner_text("#now .big").split()[0])]
    rows += [show(campaign.decide().option) for _ in range(5)]
    file = tmp_path / "report.csv"
    file.write_text("bucket,rounds,total\n" + "\n".join([*rows, "2026-12-01,1,1"]))
    visitor.goto("/campaigns/banner/totals")
    page.set_input_files("#file", file)
    page.click("#check")
    page.wait_for_selector("#verdicts td.bad")
    assert "1 of 8 rows stand in the way" in page.inner_text("#upload-form .problem")
    assert page.locator("#store").is_hidden()
    file.write_text("bucket,rounds,total\n" + "\n".join(rows))
    page.set_input_files("#file", file)
    page.click("#check")
    page.wait_for_selector("text=Nothing is stored yet")
    visitor.check_look()
    assert page.locator("#verdicts tbody tr").count() == 7
    page.click("#store")
    page.wait_for_selector("text=7 rows are stored")
    for _ in range(21):
        if campaign.status().winner:
            break
        label, _, total = show(campaign.decide().option).split(",")
        campaign.record(label, rounds=5000, total=float(total))
    visitor.goto("/campaigns/banner")
    page.wait_for_selector(".badge.winner >> text=blue wins")
    assert re.search(r"\+\d+\.\d%", page.inner_text("#options"))  # the uplift
    assert ">99%" in page.inner_text("#options")
    visitor.act("finish", "it is clear", "#now[data-state=finished]")
    assert "finished with blue" in page.inner_text("#now .headline")
    visitor.check_look()
    visitor.leave()


#: The page hears late of what is new, as from a service or through a network that is slow.
LATE = """() => {
  const own = window.own_fetch = window.fetch;
  window.fetch = async (address, ...given) => {
    if (address.includes("/live")) await new Promise((resolve) => setTimeout(resolve, 500));
    return own(address, ...given);
  };
}"""


def test_every_act(visitor, site):
    page = visitor.page
    set_up(visitor, "acts", "red\nblue\ngreen")
    visitor.act("pause", "one", "#now[data-state=paused]")
    visitor.act("resume", "two", "#now[data-state=running]")
    visitor.act("pin", "three", "#now[data-state=pinned]", option="blue", buckets="2")
    visitor.act("unpin", "four", "#now[data-state=running]")
    visitor.act("remove-option", "five", "#options >> text=removed", option="green")
    page.evaluate(LATE)  # the next dialog offers it all the same
    visitor.act("restore-option", "six", option="green")
    visitor.act("rename-option", "seven", option="green", new_option="teal")
    page.evaluate("() => { window.fetch = window.own_fetch; }")
    page.wait_for_selector("#options >> text=teal")
    visitor.act("add-option", "eight", "#options >> text=pink", new_option="pink")
    visitor.act("change", "nine", change_align="week")
    visitor.act("finish", "ten", "#now[data-state=finished]", option="blue")
    visitor.act("reopen", "eleven", "#now[data-state=running]")
    visitor.follow(".downloads >> text=History")
    told = page.inner_text(".history")
    for why in ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"):
        assert f": {why}" in told
    page.fill("#search", "teal")
    visitor.follow(".filter button")
    found = page.locator(".history li").all_inner_texts()  # events are told with the names of now
    assert all("teal" in each for each in found)
    kinds = [re.search("UTC · (.*)", each)[1] for each in found]
    acts = [each for each in kinds if each != "decision"]  # one may have been for it
    assert acts == ["rename-option", "restore-option", "remove-option"]
    visitor.goto("/campaigns/acts")
    with page.expect_download() as download:
        page.click("text=Buckets as CSV")
    assert download.value.suggested_filename == "acts-buckets.csv"
    page.click("details.more summary")
    page.click("[data-action=delete]")
    page.fill("#new-option", "act")
    page.fill("#reason", "thirteen")
    page.click("#confirm")
    page.wait_for_selector("#problem >> text=type its name")
    page.fill("#new-option", "acts")
    page.click("#confirm")
    page.wait_for_selector("#campaigns")
    assert page.locator("text=acts").count() == 0
    visitor.complaints = [each for each in visitor.complaints if "422" not in each]


def test_the_date_of_the_decision_is_simulated_beside_the_page(visitor, site, clock):
    campaign = grown(site, clock, "dated", days=4, means=(0.025, 0.03))
    assert campaign.status().winner is None
    visitor.goto("/campaigns/dated")
    visitor.page.wait_for_selector("text=simulations of the rest of the campaign")
    words = visitor.page.inner_text("#facts")
    assert re.search(r"about \d+ \w+|not soon", words)
    campaign.pause(user="ada", reason="a look")


def grown(site, clock, name, days, means=(0.25, 0.3), options=("red", "blue")):
    """A campaign of past days, with all totals but the last."""
    now = [clock() - timedelta(days=days)]
    campaign = Campaign.create(
        name=name,
        options=options,
        every="day",
        expected_rounds=5000,
        unit="sales",
        parameters={"horizon": "90 days", "mean_delay": "12 hours"},
        time_basis="arrival",
        status_quo=options[0],
        seed=1,
        store=site.store,
        clock=lambda: now[0],
    )
    world = Problem(list(means), "exponential(2500)").start(
        rng=np.random.default_rng(1), status_quo=0
    )
    for day in range(1, days + 2):
        arm = campaign.decide(day).arm
        total = world.play(arm, 5000)
        now[0] += timedelta(days=1)
        if day <= days:
            campaign.record_many([Row(day, 5000, total)])
    return campaign


def test_tokens_on_the_page(visitor, browser, site):
    page = visitor.page
    page.click("nav >> text=Administration")
    page.fill("#token-name", "shop")
    page.select_option("#token-scope", "read")
    page.click("#token-form button.main")
    secret = page.inner_text("#token-made code")
    guest = Visitor(browser, site.address, secret)
    assert guest.page.locator("nav a").all_text_contents() == ["Campaigns"]
    page.reload()
    page.click("button:has-text('Revoke shop')")
    page.click("#confirm-dialog button[value=yes]")
    page.wait_for_selector("td >> text=revoked")
    guest.page.wait_for_selector("#token")  # the page notices by itself
    guest.context.close()


def test_the_list_is_searched_and_paged(visitor, site, clock):
    for number in range(27):
        Campaign.create(
            name=f"many-{number}",
            options=["a", "b"],
            every="day",
            expected_rounds=100,
            parameters={"horizon": "90 days", "mean_delay": "1 day"},
            time_basis="arrival",
            store=site.store,
            clock=clock,
        )
    page = visitor.page
    page.fill("#search", "MANY-")
    visitor.follow(".filter button")
    assert page.locator("#campaigns article").count() == 25
    visitor.follow("text=Next")
    assert page.locator("#campaigns article").count() == 2
    page.fill("#search", "many-26")
    visitor.follow(".filter button")
    assert page.locator("#campaigns h2 a").all_text_contents() == ["many-26"]
    page.fill("#search", "many-27")
    visitor.follow(".filter button")
    assert "No campaign is like that" in page.inner_text("#campaigns")


#: All pages but the login.
PATHS = [f"/campaigns/looked-at{page}" for page in ("", "/totals", "/history")]
PATHS += ["/", "/new", "/plan", "/admin", "/campaigns/nothing"]


@pytest.mark.parametrize(
    ("scheme", "width", "height", "paths"),
    [
        (*LOOKS[0], PATHS[1::2]),
        (*LOOKS[3], PATHS[2::2]),
        *(pytest.param(*look, PATHS, marks=pytest.mark.slow) for look in LOOKS),
    ],
)
def test_every_page_in_both_themes_and_on_a_phone(
    browser, visitor, site, clock, scheme, width, height, paths
):
    """In the default run each page is looked at once; that of a campaign and the login in two looks."""
    if "looked-at" not in {each.name for each in site.store.campaigns()}:
        grown(site, clock, "looked-at", days=6)
    visitor.look(scheme, width, height)
    page = visitor.page
    for path in paths:
        visitor.goto(path)
        page.wait_for_selector("h1")
        visitor.check_look()
    size = {"width": width, "height": height}
    with browser.new_context(color_scheme=scheme, viewport=size) as stranger:
        login = stranger.new_page()
        login.goto(site.address)
        login.wait_for_selector("#token")
        assert violations(login) == []
    visitor.goto("/campaigns/looked-at")
    assert all(is_drawn(page, chart) for chart in CHARTS)
    script = """() => [...document.querySelectorAll("#options tbody tr:first-child td")]
        .slice(1, 4).map((each) => each.getBoundingClientRect().right)"""
    assert max(page.evaluate(script)) <= width  # mean, interval, uplift and chance are in sight
    page.locator("#options button.term").first.press("Enter")  # what a term means, by the keyboard
    meaning = page.locator(".meaning:popover-open")
    assert "Candidate" in meaning.inner_text()
    visitor.check_look()
    page.keyboard.press("Escape")
    assert meaning.count() == 0
    page.click("#buckets-table summary")
    page.click("[data-action=pin]")
    visitor.check_look()
    page.click("#cancel")
    visitor.complaints = [each for each in visitor.complaints if "404" not in each]
