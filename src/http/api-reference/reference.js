// Marks the place where you are among the contents of this long page, and opens what is folded around it.

const contents = document.getElementById("contents");
const links = new Map(
  [...contents.querySelectorAll('a[href^="#"]')].map((link) => [link.hash.slice(1), link]),
);

contents.addEventListener("click", (event) => {
  if (event.target.closest("a") && contents.matches(":popover-open")) contents.hidePopover();
});

/** Opens what is folded around the place that the address names. */
function unfold() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let at = target; at !== null; at = at.parentElement) {
    if (at instanceof HTMLDetailsElement) at.open = true;
  }
}
addEventListener("hashchange", unfold);
unfold();

const headings = [...document.querySelectorAll("main [id]")].filter(({ id }) => links.has(id));
let current;

function mark() {
  const passed = headings.filter((heading) => heading.getBoundingClientRect().top < 140);
  const link = links.get((passed.at(-1) ?? headings[0]).id);
  if (link === current) return;
  current?.removeAttribute("aria-current");
  link.setAttribute("aria-current", "location");
  current = link;
  if (getComputedStyle(contents).position === "sticky") link.scrollIntoView({ block: "nearest" });
}

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
