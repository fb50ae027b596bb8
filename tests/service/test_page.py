"""The page in a real browser: a demo campaign from its first bucket to its winner."""

import contextlib
import re
import subprocess
import sys
import time

import pytest
from browsing import LOOKS, Visitor, violations

#: The chart as Chart.js has it.
TIMELINE = "Chart.getChart('timeline-chart')"


@contextlib.contextmanager
def demo_of(seconds_per_day):
    """`latesum serve --demo`: its address, and the token that it printed."""
    command = [sys.executable, "-m", "latesum.cli", "serve", "--demo", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--seconds-per-day", str(seconds_per_day)], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    said = ""
    for line in process.stdout:
        said += line
        if "Stop it" in line:
            break
    address, token = re.search(r"http://\S+", said)[0], re.search(r"latesum_\S+", said)[0]
    yield address, token
    process.terminate()
    _, logged = process.communicate(timeout=120)
    assert process.returncode == 0, logged
    assert token not in logged


@pytest.fixture
def demo():
    with demo_of(0.2) as running:
        yield running


@pytest.fixture
def slower_demo():
    with demo_of(1) as running:  # one per test: its 90 days are not over before the test begins
        yield running


def shown_days(page):
    return page.evaluate(f"{TIMELINE}.data.labels.length")


def is_drawn(page, chart):
    """Whether a chart has more than a few points that are not empty."""
    script = """id => {
        const canvas = document.getElementById(id);
        const points = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        let drawn = 0;
        for (let place = 3; place < points.length; place += 4) drawn += points[place] > 0;
        return drawn;
    }"""
    page.wait_for_function("id => window.Chart?.getChart(id)", arg=chart)
    return page.evaluate(script, chart) > 500


def tooltip_of_first(page, kind):
    """What is said of the first bucket with this mark when it is pointed at."""
    script = f"""async kind => {{
        const chart = {TIMELINE};
        const content = JSON.parse(chart.canvas.parentElement.dataset.chart);
        const row = content.cells.findIndex((cells) => cells.some((cell) => cell.includes(kind)));
        const index = content.cells[row].findIndex((cell) => cell.includes(kind));
        const {{ x, y }} = chart.getDatasetMeta(row).data[index].getCenterPoint();
        const box = chart.canvas.getBoundingClientRect();
        const place = {{ clientX: box.left + x, clientY: box.top + y }};
        chart.canvas.dispatchEvent(new MouseEvent("mousemove", place));
        await new Promise((resolve) => setTimeout(resolve, 200));
        if (chart.tooltip.title[0] !== content.labels[index]) return chart.tooltip.title[0];
        return chart.tooltip.body.map((part) => part.lines.join(" ")).join(" ");
    }}"""
    return page.evaluate(script, kind)


@pytest.mark.slow
def test_the_demo_is_followed_from_its_first_bucket_to_its_winner(browser, demo):
    visitor = Visitor(browser, *demo)
    page = visitor.page
    page.click("#campaigns a")
    page.wait_for_selector("#now[data-state=running]")
    loaded = page.evaluate("performance.timeOrigin")
    assert is_drawn(page, "timeline-chart")
    assert page.evaluate(f"{TIMELINE}.data.labels[0]") == "2026-03-02"
    before = shown_days(page)

    visitor.act("pause", "a look at it")
    page.wait_for_selector("#now[data-state=paused]")
    assert page.locator("[data-act=pause]").is_hidden()
    assert (
        page.locator("#people li")
        .first.text_content()
        .endswith("paused the campaign: a look at it")
    )
    page.wait_for_function(  # until a bucket is decided that way
        "() => JSON.parse(document.querySelector('#timeline [data-chart]').dataset.chart)"
        ".cells.some((row) => row.some((cell) => cell.includes('o')))"
    )
    visitor.act("resume", "seen enough")
    page.wait_for_selector("#now[data-state=running]")

    visitor.wait_for("#now[data-say*='blue is the winner']")
    assert page.locator(".badge.winner").text_content() == "blue wins"
    assert shown_days(page) > before + 20
    assert page.locator("#announce").text_content() != ""
    assert page.evaluate("performance.timeOrigin") == loaded  # it was never reloaded
    visitor.wait_for("#now[data-state=finished]")
    assert page.locator("[data-act]:visible").all_text_contents() == ["Reopen", "Archive"]
    assert "ordered by a person" in tooltip_of_first(page, "o")
    on_a_phone = Visitor(browser, *demo, width=390, height=844)
    on_a_phone.page.click("#campaigns a")
    assert is_drawn(on_a_phone.page, "timeline-chart")
    assert shown_days(on_a_phone.page) == 90  # all of them, in the width of the phone
    assert on_a_phone.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert visitor.complaints == on_a_phone.complaints == []
    assert visitor.foreign == []
    page.click("#logout")
    page.wait_for_selector("#token")
    assert visitor.context.cookies() == []
    visitor.context.close()


@pytest.mark.slow
def test_it_can_be_looked_at_in_both_themes_and_on_a_phone(browser, slower_demo, tmp_path):
    for scheme, width, height in LOOKS:
        visitor = Visitor(browser, *slower_demo, scheme, width, height)
        page = visitor.page
        assert violations(page) == []
        page.click("#campaigns a")
        page.wait_for_selector("#now")
        visitor.wait_for("#totals canvas")
        for chart in ("timeline-chart", "totals-chart", "estimates-chart"):
            visitor.wait_for(f"#{chart}")
            assert is_drawn(page, chart)
        page.click("#buckets-table summary")
        assert violations(page) == []
        page.screenshot(path=tmp_path / f"{scheme}-{width}.png", full_page=True)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width  # drawings scroll in themselves, the page does not
        if page.locator("[data-act=pin]").is_visible():
            page.click("[data-act=pin]")
            assert violations(page) == []
            page.screenshot(path=tmp_path / f"{scheme}-{width}-dialog.png")
        assert page.locator("#buckets-table").get_attribute("open") is not None
        assert visitor.complaints == []
        visitor.context.close()


def test_it_works_with_the_keyboard_alone(browser, slower_demo):
    visitor = Visitor(browser, *slower_demo)
    page = visitor.page
    page.locator("#campaigns a").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-act=pin]")
    page.locator("[data-act=pin]").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "option"
    page.keyboard.press("Escape")
    page.wait_for_selector("#dialog", state="hidden")
    page.keyboard.press("Enter")  # the focus is back on the button
    page.keyboard.type("g")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type("for the window display")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=pinned green for 1 bucket: for the window display")
    focused = page.locator(".scroll").first
    focused.focus()
    time.sleep(2.5)  # the page was brought up to date meanwhile
    assert page.evaluate("document.activeElement.className").startswith("scroll")
    assert visitor.complaints == []
    visitor.context.close()


def test_the_page_as_a_file_draws_its_charts_without_anything_else(browser, clock, tmp_path):
    from latesum.campaigns import Campaign
    from latesum.campaigns.static_page import status_html

    with Campaign.create(
        name="banner", options=["<i>red</i>", "blue"], policy="odaaf", every="day",
        parameters={"horizon": "90 days", "mean_delay": "1 day"}, expected_rounds=100,
        time_basis="arrival", store=tmp_path / "c.db", clock=clock,
    ) as campaign:  # fmt: skip
        for _ in range(6):
            decision = campaign.decide()
            clock.pass_by(days=1)
            campaign.record(decision.bucket, rounds=100, total=30)
        (tmp_path / "page.html").write_text(status_html(campaign.status()), encoding="utf-8")
    context = browser.new_context(offline=True)
    page, complaints = context.new_page(), []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text))
    page.goto((tmp_path / "page.html").as_uri())
    for chart in ("timeline-chart", "totals-chart", "estimates-chart"):
        assert is_drawn(page, chart)
    assert "<i>red</i>" in page.inner_text("#options")
    assert complaints == []
    context.close()
