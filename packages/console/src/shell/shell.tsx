import { type ReactNode, useEffect, useState } from "react";
import { Link, useLocation } from "wouter";
import { useSession } from "../data/queries.ts";
import { Button, Icon } from "../parts/button.tsx";
import { useWarnings, WarningCount } from "./attention.tsx";
import { useLogOut } from "./log-out.ts";
import { isWithin, type Place, useGroups } from "./places.ts";
import { SearchButton } from "./search.tsx";
import { Shortcuts } from "./shortcuts.tsx";
import { ThemeChoice } from "./theme.tsx";

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
          <SearchButton onKeys={() => setListsKeys(true)} />
          <span className="menu-button">
            <Button kind="quiet" aria-expanded={open} aria-controls="places" onClick={() => setOpen(!open)}>
              <Icon name="menu" />
              Menu
            </Button>
          </span>
        </div>
        <Places path={path} />
        <Foot onKeys={() => setListsKeys(true)} />
      </header>
      <main id="content" tabIndex={-1}>
        {children}
      </main>
      <Shortcuts open={listsKeys} onOpen={setListsKeys} />
    </div>
  );
}

function Places({ path }: { path: string }) {
  const warnings = useWarnings();
  const item = (place: Place) => {
    const warning = warnings.get(place.to);
    return (
      <li key={place.to}>
        <Link to={place.to} data-place="" aria-current={isWithin(place, path) ? "page" : undefined}>
          {place.text}
        </Link>
        {warning !== undefined && <WarningCount of={warning} />}
      </li>
    );
  };
  return (
    <nav id="places" aria-label="Console">
      {useGroups().map(({ title, places }) => (
        <div key={title}>
          <h2>{title}</h2>
          <ul>{places.map(item)}</ul>
        </div>
      ))}
    </nav>
  );
}

function Foot({ onKeys }: { onKeys: () => void }) {
  const { data } = useSession();
  return (
    <div className="side-foot">
      <ThemeChoice />
      <div className="who">
        <a href="/docs">Documentation</a>
        <Button kind="quiet" onClick={onKeys} aria-label="Keyboard shortcuts">
          <kbd>?</kbd>
        </Button>
      </div>
      <div className="who">
        <Link to="/account" title="Your account">
          {data?.operator?.name} <span className="muted">{data?.operator?.role}</span>
        </Link>
        <Button kind="quiet" onClick={useLogOut()}>
          Log out
        </Button>
      </div>
      <span>Bellhop {data?.version}</span>
    </div>
  );
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
