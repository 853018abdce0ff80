import { type ReactNode, useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import type { Permission } from "../contract.ts";
import { logOut, useMay, useSession } from "../data/queries.ts";
import { Button, Icon } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Choice } from "../parts/field.tsx";

export function Shell({ children }: { children: ReactNode }) {
  const [path] = useLocation();
  const [open, setOpen] = useState(false);
  const [listsKeys, setListsKeys] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another path closes the menu
  useEffect(() => setOpen(false), [path]);
  return (
    <div className="shell">
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <header className="side" data-open={open ? "" : undefined}>
        <div className="side-top">
          <Link to="/" className="brand">
            <Brand />
          </Link>
          <span className="menu-button">
            <Button kind="quiet" aria-expanded={open} aria-controls="places" onClick={() => setOpen(!open)}>
              <Icon name="menu" />
              Menu
            </Button>
          </span>
        </div>
        <nav id="places" aria-label="Console">
          {useGroups().map(({ title, places }) => (
            <div key={title}>
              <h2>{title}</h2>
              <ul>
                {places.map((place) => (
                  <li key={place.to}>
                    <Link to={place.to} aria-current={isWithin(place, path) ? "page" : undefined}>
                      {place.text}
                    </Link>
                  </li>
                ))}
              </ul>
            </div>
          ))}
        </nav>
        <Foot onKeys={() => setListsKeys(true)} />
      </header>
      <main id="content" tabIndex={-1}>
        {children}
      </main>
      <Shortcuts open={listsKeys} onOpen={setListsKeys} />
    </div>
  );
}

function Foot({ onKeys }: { onKeys: () => void }) {
  const { data } = useSession();
  return (
    <div className="side-foot">
      <ThemeChoice />
      <div className="who">
        <a href="/docs">Documentation</a>
        <span>{data?.version}</span>
      </div>
      <div className="who">
        <span>All times are UTC</span>
        <Button kind="quiet" onClick={onKeys} aria-label="Keyboard shortcuts">
          <kbd>?</kbd>
        </Button>
      </div>
      <div className="who">
        <Link to="/account" title="Your account">
          {data?.operator?.name} <span className="muted">{data?.operator?.role}</span>
        </Link>
        <Button kind="quiet" onClick={() => void logOut().catch(() => undefined)}>
          Log out
        </Button>
      </div>
    </div>
  );
}

interface Place {
  readonly to: string;
  readonly text: string;
  readonly key: string;
  /** Shown only to operators with this permission. */
  readonly needs?: Permission;
  /** Path prefixes. */
  readonly paths: readonly string[];
}

interface Group {
  readonly title: string;
  readonly places: readonly Place[];
}

const GROUPS: readonly Group[] = [
  {
    title: "Hotels",
    places: [{ to: "/", text: "Portfolio", key: "p", paths: ["/property", "/history"] }],
  },
  {
    title: "Feeds",
    places: [
      { to: "/intake", text: "Ingestion", key: "i", paths: [] },
      { to: "/requests", text: "Requests", key: "r", paths: ["/requests"] },
      { to: "/quarantine", text: "Quarantine", key: "q", paths: ["/quarantine"] },
    ],
  },
  {
    title: "Partners",
    places: [
      { to: "/clients", text: "Clients", key: "c", needs: "read-clients", paths: ["/clients"] },
      { to: "/webhooks", text: "Webhooks", key: "w", needs: "manage-webhooks", paths: ["/webhooks"] },
      { to: "/backfills", text: "Backfills", key: "b", paths: ["/backfills"] },
      { to: "/certifications", text: "Certification", key: "f", paths: ["/certifications"] },
    ],
  },
  {
    title: "Administration",
    places: [
      { to: "/operators", text: "Operators", key: "o", needs: "manage-operators", paths: ["/operators"] },
      { to: "/settings", text: "Settings", key: "s", paths: ["/settings"] },
      { to: "/audit", text: "Audit", key: "a", needs: "read-audit", paths: ["/audit"] },
    ],
  },
];

/** What the operator may open. */
function useGroups(): readonly Group[] {
  const may = useMay();
  return GROUPS.map(({ title, places }) => ({
    title,
    places: places.filter(({ needs }) => needs === undefined || may(needs)),
  })).filter(({ places }) => places.length > 0);
}

function isWithin({ to, paths }: Place, path: string): boolean {
  return path === to || paths.some((beginning) => path === beginning || path.startsWith(`${beginning}/`));
}

export function Brand() {
  return (
    <>
      <svg width="20" height="20" viewBox="0 0 20 20" fill="currentColor" aria-hidden="true">
        <circle cx="10" cy="3.6" r="1.6" />
        <path d="M2.5 14a7.5 7.5 0 0 1 15 0z" />
        <rect x="1" y="15.4" width="18" height="2.2" rx="1.1" />
      </svg>
      Bellhop
    </>
  );
}

const SHORTCUTS_STORED_AS = "bellhop.shortcuts";
/** Time for the second key after `g`. */
const SECOND_KEY_MS = 1500;

function areOn(): boolean {
  try {
    return localStorage.getItem(SHORTCUTS_STORED_AS) !== "off";
  } catch {
    return true;
  }
}

/** Keys that work on every page; `?` lists them. They can be turned off (WCAG 2.1.4). */
function Shortcuts({ open, onOpen }: { open: boolean; onOpen: (open: boolean) => void }) {
  const [on, setOn] = useState(areOn);
  const [, navigate] = useLocation();
  const places = useGroups().flatMap((group) => group.places);
  const byKey = new Map(places.map(({ key, to }) => [key, to]));
  const current = useRef(byKey);
  current.current = byKey;
  useEffect(() => (on ? listen(() => onOpen(true), navigate, current) : undefined), [on, onOpen, navigate]);
  if (!open) return null;
  const put = (next: boolean) => {
    setOn(next);
    try {
      localStorage.setItem(SHORTCUTS_STORED_AS, next ? "on" : "off");
    } catch {
      // Without storage the choice lasts as long as the page.
    }
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
  [["?"], "Show this list"],
  [["/"], "Go to the first filter of the page"],
  [["j"], "Next row"],
  [["k"], "Previous row"],
  [["n"], "Next page of a list"],
  [["p"], "Previous page of a list"],
  [["Enter"], "open the row"],
  ...places.map(({ key, text }) => [["g", key], text] as const),
  [["←", "→"], "along a chart, once it has the focus"],
  [["Esc"], "close a dialog"],
];

function listen(
  showList: () => void,
  go: (to: string) => void,
  places: { readonly current: ReadonlyMap<string, string> },
): () => void {
  let armedUntil = 0;
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (document.querySelector("dialog[open]") !== null) return;
    const place = places.current.get(event.key);
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

type Theme = "system" | "light" | "dark";

/** `public/theme.js` reads it before the first paint. */
const THEME_STORED_AS = "bellhop.theme";

function storedTheme(): Theme {
  const chosen = document.documentElement.dataset["theme"];
  return chosen === "light" || chosen === "dark" ? chosen : "system";
}

function putTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
  try {
    localStorage.setItem(THEME_STORED_AS, theme);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
}

function ThemeChoice() {
  const [theme, setTheme] = useState(storedTheme);
  return (
    <Choice
      label="Theme"
      hideLabel
      value={theme}
      options={{ system: "System", light: "Light", dark: "Dark" }}
      onChange={(next) => {
        putTheme(next);
        setTheme(next);
      }}
    />
  );
}
