"""The page in a browser: no errors, no requests, and controls that work, at the width of a desktop and of a phone."""

from __future__ import annotations

import json
import shutil

import pytest

import sapwood

selenium = pytest.importorskip("selenium", reason="the page is tested with selenium")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="no chromium and chromedriver installed")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Return a headless browser that records its console and its requests."""
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


class Page:
    """A report that is open in the browser."""

    def __init__(self, browser, path, width: int) -> None:
        self.browser, self.url = browser, path.as_uri()
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        browser.get_log("browser"), browser.get_log("performance")
        browser.get(self.url)
        self.wait("return document.querySelectorAll('main section').length > 3")

    def wait(self, script: str) -> None:
        """Wait until a script returns true; charts are drawn when they have a width."""
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.browser, 20).until(lambda browser: browser.execute_script(script))

    def run(self, script: str, *arguments):
        return self.browser.execute_script(script, *arguments)

    def find(self, selector: str):
        return self.browser.find_element("css selector", selector)

    def pick(self, selector: str, option: int) -> None:
        from selenium.webdriver.support.ui import Select

        Select(self.find(selector)).select_by_index(option)

    def check(self) -> None:
        """Assert that nothing was written to the console, and that only the file was requested."""
        assert self.browser.get_log("browser") == []
        events = [json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance")]
        sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
        # The page that the browser starts with may still send requests of its own.
        urls = [request["request"]["url"] for request in sent if request["documentURL"] == self.url]
        assert urls == [self.url]


@pytest.fixture(scope="module")
def path(binary, tmp_path_factory):
    """Return the page of a classifier."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    sapwood.report(binary.model, binary.X, binary.y, X_train=binary.X_train, y_train=binary.y_train, path=path)
    return path


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_drawn_without_errors_and_requests(browser, path, width):
    page = Page(browser, path, width)
    page.wait("return document.querySelectorAll('main svg').length >= 9")
    assert page.run("return document.documentElement.scrollWidth") <= width
    assert page.run("return [...document.querySelectorAll('svg[role=img]')].every(s => s.getAttribute('aria-label'))")
    page.check()


@pytest.mark.parametrize("width", [1280, 390])
def test_features_rows_trees_and_importances_can_be_picked(browser, path, width):
    page = Page(browser, path, width)
    for selector, section in (("#pick-feature", "effects"), ("#pick-row", "rows"), ("#pick-tree", "trees"),
                              ("#pick-importance", "importances")):  # fmt: skip
        page.wait(f"return document.querySelectorAll('#{section} svg').length > 0")
        before = page.run(f"return document.querySelector('#{section} svg').outerHTML")
        page.pick(selector, 1)
        page.wait(f"return document.querySelector('#{section} svg') !== null")
        assert page.run(f"return document.querySelector('#{section} svg').outerHTML") != before
    page.check()


def test_a_threshold_changes_the_decisions(browser, path, binary):
    page = Page(browser, path, 1280)
    script = "const t = document.getElementById('threshold'); t.value = 0; t.dispatchEvent(new Event('input'));"
    page.run(script)
    positive = int((binary.y == "rich").sum())
    assert page.find("#decisions td").text.split()[0] == str(positive)
    assert "recall 100.0 %" in page.find("#decisions p").text
    page.check()


def test_columns_can_be_sorted_and_found(browser, path):
    page = Page(browser, path, 1280)

    def names():
        return page.run(
            "return [...document.querySelectorAll('#columns tbody tr td:first-child')].map(c => c.textContent)"
        )

    assert names() == ["age", "job", "noise", "same"]
    page.run("document.querySelector('#columns th button').click()")
    assert names() == ["same", "noise", "job", "age"]
    assert page.find("#columns th").get_attribute("aria-sort") == "descending"
    page.find("#find-column").send_keys("JO")
    assert names() == ["job"]
    page.check()


def test_charts_answer_the_keyboard_and_the_pointer(browser, path):
    page = Page(browser, path, 1280)
    page.wait("return document.querySelector('#curves svg') !== null")
    page.run("document.querySelector('#curves svg').focus()")
    from selenium.webdriver.common.keys import Keys

    page.find("#curves svg").send_keys(Keys.ARROW_RIGHT)
    assert "boosting round: 1" in page.find("#tip").text
    page.find("#curves svg").send_keys(Keys.ARROW_RIGHT)
    assert "boosting round: 2" in page.find("#tip").text
    from selenium.webdriver.common.action_chains import ActionChains

    page.run("document.documentElement.style.scrollBehavior = 'auto'")
    page.run("document.querySelector('#importances .bar').scrollIntoView({block: 'center'})")
    ActionChains(browser).move_to_element(page.find("#importances .bar")).perform()
    page.wait("return document.getElementById('tip').textContent.includes('mean absolute contribution')")
    page.check()


def test_the_theme_follows_the_system_and_a_button(browser, path):
    page = Page(browser, path, 1280)
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
    page.wait("return document.documentElement.dataset.theme === 'dark'")
    page.find("#theme").click()
    assert page.run("return document.documentElement.dataset.theme") == "light"
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    page.check()


def test_text_has_enough_contrast_in_both_themes(browser, path):
    page = Page(browser, path, 1280)
    script = """
      const theme = arguments[0]; document.documentElement.dataset.theme = theme;
      const style = getComputedStyle(document.documentElement), value = (n) => style.getPropertyValue(n).trim();
      const light = (hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16) / 255)
        .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
        .reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
      const contrast = (a, b) => {
        const [x, y] = [light(value(a)), light(value(b))].sort((p, q) => q - p);
        return (x + 0.05) / (y + 0.05);
      };
      return [["--ink", "--paper"], ["--soft", "--paper"], ["--soft", "--panel"], ["--accent", "--paper"],
              ["--bad", "--bad-paper"], ["--check", "--check-paper"], ["--ink", "--note-paper"]]
        .map(([a, b]) => [a, b, contrast(a, b)]);
    """
    for theme in ("light", "dark"):
        assert [pair for pair in page.run(script, theme) if pair[2] < 4.5] == []


def test_hostile_names_do_nothing(browser, hostile, tmp_path):
    path = tmp_path / "report.html"
    sapwood.report(hostile.model, hostile.X, hostile.y, title="</title><script>hacked()</script>", path=path)
    page = Page(browser, path, 1280)
    page.wait("return document.querySelectorAll('main svg').length >= 8")
    assert page.find("h1").text == "</title><script>hacked()</script>"
    for selector in ("#pick-feature", "#pick-row"):
        page.pick(selector, 1)
    assert page.run("return document.querySelectorAll('main img, main script, main b b, main i[onload]').length") == 0
    page.check()
