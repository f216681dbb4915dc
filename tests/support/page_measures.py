"""What is measured on a page in a real browser, as expressions for `chromium.Page.ask`."""

LOW_CONTRAST_IN = """
((selector) => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const linear = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const colour = parts(getComputedStyle(e).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
  };
  const over = ([r, g, b, a = 1], below) => [r, g, b].map((c, i) => c * a + below[i] * (1 - a));
  const low = [];
  for (const e of document.querySelectorAll(selector)) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    const below = ground(e), text = over(parts(getComputedStyle(e).color), below);
    const [one, two] = [luminance(text), luminance(below)].sort((a, b) => b - a);
    if ((one + 0.05) / (two + 0.05) < 4.5) low.push(e.outerHTML.slice(0, 80));
  }
  return low;
})
"""
LOW_CONTRAST = f"{LOW_CONTRAST_IN}('body *:not(script):not(svg):not(svg *)')"

MISPLACED_TEXTS = """
[...document.querySelectorAll("figure .wide > svg")].flatMap((svg) => {
  const frame = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll("text")].map((e) => [e, e.getBoundingClientRect()]);
  const leaves = ([, r]) => r.left < frame.left - 1 || r.right > frame.right + 1 || r.bottom > frame.bottom + 3;
  const covers = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
  return texts.filter((one, i) => leaves(one) || texts.slice(i + 1).some((other) => covers(one[1], other[1])))
    .map(([e]) => e.textContent.slice(0, 60));
})
"""

UNFOLDED = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"

WIDER_THAN_ITS_FRAME = """
[...document.querySelectorAll(".wide")].filter((one) => one.querySelector("table.cards") && one.checkVisibility()
  && one.scrollWidth > one.clientWidth).map((one) => one.getAttribute("aria-label"))
"""

OFF_SCREEN = """
((selector) => [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility()).flatMap((one) => {
  const range = document.createRange();
  range.selectNodeContents(one);
  const rects = [one.getBoundingClientRect(), ...range.getClientRects()];
  return rects.some((r) => r.left < 0 || r.right > innerWidth + 0.5) ? [one.outerHTML.slice(0, 80)] : [];
}))
"""
"""Elements whose box, or whose text, is not wholly between the left and the right edge of the window."""

BOX = "((one) => { const r = one.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; })"
