/** From the top of the window, in CSS pixels: a heading that has come so near is being read. The bar and a line lie above. */
const READ_ABOVE = 140;

/**
 * Marks the link of the heading that is being read with aria-current, as the page scrolls; at its end that of the last one,
 * which may be too short to come to the top. `links`: each link by the id of its heading. `onMark` is told the marked link.
 */
export function followReading(links, headings, onMark = () => undefined) {
  if (headings.length === 0) return;
  let current;
  const mark = () => {
    const passed = headings.filter((heading) => heading.getBoundingClientRect().top < READ_ABOVE);
    const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
    const link = links.get((atEnd ? headings.at(-1) : (passed.at(-1) ?? headings[0])).id);
    if (link === current) return;
    current?.removeAttribute("aria-current");
    link.setAttribute("aria-current", "location");
    current = link;
    onMark(link);
  };
  let waiting = false;
  addEventListener(
    "scroll",
    () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        mark();
      });
    },
    { passive: true },
  );
  mark();
}
