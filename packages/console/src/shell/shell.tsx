import { type ReactNode, useEffect, useState } from "react";
import { Link, useLocation } from "wouter";
import { logOut, useSession } from "../data/queries.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Brand } from "./brand.tsx";
import { isWithin, PLACES } from "./places.ts";
import { Shortcuts } from "./shortcuts.tsx";
import { ThemeChoice } from "./theme.tsx";

/** What is around every page: where to go, and who is there. */
export function Shell({ children }: { readonly children: ReactNode }) {
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
          {PLACES.map(({ title, places }) => (
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

function Foot({ onKeys }: { readonly onKeys: () => void }) {
  const { data } = useSession();
  return (
    <div className="side-foot">
      <ThemeChoice />
      <div className="who">
        <span>All times are UTC</span>
        <Button kind="quiet" onClick={onKeys} aria-label="Keyboard shortcuts">
          <kbd>?</kbd>
        </Button>
      </div>
      <div className="who">
        <Link to="/account" title="Change your password">
          {data?.operator?.name}
        </Link>
        <Button kind="quiet" onClick={() => void logOut().catch(() => undefined)}>
          Log out
        </Button>
      </div>
    </div>
  );
}
