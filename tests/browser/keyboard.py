"""The way through a page by keyboard: which of its controls are reached, and where the focus is seen."""

from __future__ import annotations

from playwright.sync_api import Page

MOST = 1500
"""So many times is Tab pressed on a page at most; in a table it goes from cell to cell."""

# A field's own buttons (clear, step, open the list) repeat what the arrow keys and Backspace do in it, and the hidden
# field of an upload is what its button opens.
MARK = """() => {
  const still = "<style>* {transition: none !important; animation: none !important}</style>"
  document.head.insertAdjacentHTML("beforeend", still)
  const shown = element => element.checkVisibility({visibilityProperty: true}) && element.getClientRects().length > 0
  const fields = ["stSelectbox", "stMultiSelect", "stNumberInput", "stFileUploader"].map(id => `[data-testid=${id}]`)
  const repeats = element => element.tabIndex < 0 && element.closest(fields) !== null
  const natural = "a[href], button, input, select, textarea, summary"
  const named = `${natural}, [tabindex='0']:not([role=tabpanel]), [role=tab], [role=row]`
  const behind = element => element.role === "tab" && element.ariaSelected === "false"  // an arrow key draws it anew
  const controls = [...document.querySelectorAll(named)]
    .filter(one => !one.disabled && shown(one) && !repeats(one) && !behind(one))
  controls.forEach((element, place) => { element.dataset.control = place })
  const told = element => [element.tagName, element.dataset.testid, element.ariaLabel || element.innerText].join(" ")
  return controls.map(element => told(element).slice(0, 90).replaceAll("\\n", " "))
}"""

# What is drawn of the focused element and of what is around it, with the focus and without.
FOCUSED = """async () => {
  const now = document.activeElement
  const around = [now]
  while (around.length < 6 && around.at(-1).parentElement) around.push(around.at(-1).parentElement)
  around.push(...now.parentElement.children)
  const drawn = () => around.map(element => {
    const {outlineStyle, outlineWidth, boxShadow, borderColor, backgroundColor} = getComputedStyle(element)
    return [outlineStyle === "none" ? "" : outlineWidth, boxShadow, borderColor, backgroundColor].join()
  }).join()
  const focused = drawn()
  now.blur()
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))
  const other = drawn()
  now.focus({focusVisible: true})
  const group = now.closest("[role=radiogroup], [role=toolbar], [role=grid], [role=group]")
  const grouped = group !== null && !["CANVAS", "INPUT"].includes(now.tagName)
  return {seen: focused !== other, grouped}
}"""
CONTROL = """() => {
  const now = document.activeElement
  return now === document.body ? null : now.dataset.control ?? ""
}"""


def walk(page: Page) -> tuple[set[int], set[int]]:
    """Press Tab until nothing new comes, and the right arrow within groups: what is reached, and seen to be focused."""
    reached: set[int] = set()
    visible: set[int] = set()
    ends, before = 0, ""
    page.evaluate("document.activeElement.blur()")
    for _ in range(MOST):
        page.keyboard.press("Tab")
        control = page.evaluate(CONTROL)
        if control == "" or control == before:  # a table's scroll bar, or its next cell
            continue
        before = control
        if control is None or int(control) in reached:
            ends += 1
            if ends > 5:  # past the browser's own controls the page begins again
                break
            continue
        ends = 0
        reached.add(int(control))
        now = page.evaluate(FOCUSED)
        if now["seen"]:
            visible.add(int(control))
        if now["grouped"]:
            _through_the_group(page, reached, visible)
    return reached, visible


def _through_the_group(page: Page, reached: set[int], visible: set[int]) -> None:
    """The right arrow moves the focus among choices of which Tab reaches one."""
    for _ in range(50):
        page.keyboard.press("ArrowRight")
        control = page.evaluate(CONTROL)
        if not control or int(control) in reached:
            return
        reached.add(int(control))
        if page.evaluate(FOCUSED)["seen"]:
            visible.add(int(control))


def faults_of_the_keyboard(page: Page) -> list[str]:
    """Controls that Tab and arrow keys do not reach, or without a visible focus."""
    for _ in range(2):  # a figure that is drawn again meanwhile has new buttons
        controls = page.evaluate(MARK)
        reached, visible = walk(page)
        if len(reached) == len(controls):
            break
    assert len(controls) > 15  # the menu's links alone
    missed = [told for k, told in enumerate(controls) if k not in reached]
    return [
        *(f"never reached: {told}" for told in missed),
        *(f"no visible focus: {controls[k]}" for k in sorted(reached - visible)),
    ]
