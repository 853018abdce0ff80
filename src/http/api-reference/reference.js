// Marks the place where you are among the contents of this long page, and opens what is folded around it.

// All scripts are served from one folder (docs-routes.ts): it lies in page/.
import { followReading } from "./follow-reading.js";

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
followReading(links, headings, (link) => {
  if (getComputedStyle(contents).position === "sticky") link.scrollIntoView({ block: "nearest" });
});
