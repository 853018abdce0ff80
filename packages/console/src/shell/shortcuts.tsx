import { useEffect, useEffectEvent, useState } from "react";
import { useLocation } from "wouter";
import { readStored, store } from "../data/stored.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { type Place, useGroups } from "./places.ts";

const SHORTCUTS_STORED_AS = "bellhop.shortcuts";
/** Time for the second key after `g`. */
const SECOND_KEY_MS = 1500;

/** Keys of every page, listed by `?`. They can be disabled (WCAG 2.1.4). */
export function Shortcuts({ open, onOpen }: { open: boolean; onOpen: (open: boolean) => void }) {
  const [on, setOn] = useState(() => readStored(SHORTCUTS_STORED_AS) !== "off");
  const [, navigate] = useLocation();
  const places = useGroups().flatMap((group) => group.places);
  const placeOf = useEffectEvent((key: string) => places.find((place) => place.key === key)?.to);
  useEffect(() => (on ? listen(() => onOpen(true), navigate, placeOf) : undefined), [on, onOpen, navigate]);
  if (!open) return null;
  const put = (next: boolean) => {
    setOn(next);
    store(SHORTCUTS_STORED_AS, next ? "on" : "off");
  };
  return (
    <Dialog title="Keyboard" onClose={() => onOpen(false)}>
      <div className="stack">
        <dl className="keys">
          {keysFor(places).map(([keys, what]) => (
            <div key={what}>
              <dt>
                {keys.map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
        <label className="check">
          <input type="checkbox" checked={on} onChange={(event) => put(event.target.checked)} />
          Enable keyboard shortcuts
        </label>
        <div className="form-actions">
          <Button kind="main" onClick={() => onOpen(false)}>
            Close
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

const keysFor = (places: readonly Place[]): readonly (readonly [keys: readonly string[], what: string])[] => [
  [["Ctrl", "K"], "Search; also Command K"],
  [["?"], "Show this list"],
  [["/"], "Go to the first filter of the page"],
  [["j"], "Next row"],
  [["k"], "Previous row"],
  [["n"], "Next page of a list"],
  [["p"], "Previous page of a list"],
  [["Enter"], "Open the row"],
  ...places.map(({ key, text }) => [["g", key], text] as const),
  [["←", "→"], "Move along a chart that has the focus"],
  [["Esc"], "Close a dialog"],
];

function listen(
  showList: () => void,
  go: (to: string) => void,
  placeOf: (key: string) => string | undefined,
): () => void {
  let armedUntil = 0;
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (document.querySelector("dialog[open]") !== null) return;
    const place = placeOf(event.key);
    if (event.timeStamp < armedUntil && place !== undefined) go(place);
    else if (event.key === "?") showList();
    else if (event.key === "/") firstFilter()?.focus();
    else if (event.key === "j") moveRow(1);
    else if (event.key === "k") moveRow(-1);
    else if (event.key === "n") turnList("next");
    else if (event.key === "p") turnList("prev");
    else if (event.key === "g") {
      armedUntil = event.timeStamp + SECOND_KEY_MS;
      return;
    } else return;
    armedUntil = 0;
    event.preventDefault();
  };
  document.addEventListener("keydown", onKey);
  return () => document.removeEventListener("keydown", onKey);
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.closest("input, select, textarea, [contenteditable]") !== null
  );
}

function firstFilter(): HTMLElement | null {
  return (
    document.querySelector<HTMLElement>("[data-first-filter]") ??
    document.querySelector<HTMLElement>("search :is(input, select)")
  );
}

/** Enter then opens the row. */
function moveRow(step: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>("main tbody tr")].flatMap((row) => {
    const link = row.querySelector<HTMLElement>("a[href]");
    return link === null ? [] : [link];
  });
  const here = links.findIndex((link) => link.closest("tr")?.contains(document.activeElement));
  const next = here === -1 ? (step === 1 ? 0 : links.length - 1) : here + step;
  links[next]?.focus();
}

function turnList(way: "next" | "prev"): void {
  document.querySelector<HTMLElement>(`main a[rel=${way}]`)?.click();
}
