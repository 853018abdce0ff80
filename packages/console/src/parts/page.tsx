import { type ReactNode, useEffect, useRef } from "react";
import { Link, useLocation } from "wouter";
import { useListPage } from "../routing/filters.ts";

/** A step on the way to a page. */
export interface Crumb {
  readonly to: string;
  readonly text: string;
}

export interface PageProps {
  readonly title: string;
  /** The title as it is shown, where it is more than text. */
  readonly heading?: ReactNode;
  readonly lead?: ReactNode;
  readonly crumbs?: readonly Crumb[];
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** The frame of a page. Whoever goes to another page lands on its heading, by eye and by screen reader. */
export function Page({ title, heading = title, lead, crumbs = [], actions, children }: PageProps) {
  const head = useRef<HTMLHeadingElement>(null);
  const [path] = useLocation();
  const { number = 1 } = useListPage();
  // Entries of the browser's history are told apart by it.
  const place = number === 1 ? "" : `page ${number}`;
  useEffect(() => {
    document.title = `${title}${place === "" ? "" : `, ${place}`} · Bellhop console`;
  }, [title, place]);
  useArrival(path, head);
  return (
    <>
      <header className="page-head">
        <div className="titles">
          {crumbs.length === 0 ? null : (
            <nav aria-label="Where this is">
              <ol className="crumbs">
                {crumbs.map(({ to, text }) => (
                  <li key={to}>
                    <Link to={to}>{text}</Link>
                  </li>
                ))}
              </ol>
            </nav>
          )}
          <h1 ref={head} tabIndex={-1}>
            {heading}
          </h1>
          {lead === undefined ? null : <p className="lead">{lead}</p>}
          <p className="unseen" role="status">
            {place}
          </p>
        </div>
        {actions === undefined ? null : <div className="actions">{actions}</div>}
      </header>
      {children}
    </>
  );
}

let arrivedAt: string | undefined;

/** Not for the first page of all: there the browser's own beginning is right. */
function useArrival(path: string, head: { readonly current: HTMLElement | null }): void {
  useEffect(() => {
    if (arrivedAt !== undefined && arrivedAt !== path) {
      head.current?.focus({ preventScroll: true });
      window.scrollTo(0, 0);
    }
    arrivedAt = path;
  }, [path, head]);
}

interface SectionProps {
  readonly title: string;
  readonly aside?: ReactNode;
  readonly children: ReactNode;
}

export function Section({ title, aside, children }: SectionProps) {
  return (
    <section className="section">
      <div className="section-head">
        <h2 tabIndex={-1}>{title}</h2>
        {aside}
      </div>
      {children}
    </section>
  );
}

export interface Figure {
  readonly name: string;
  readonly value: ReactNode;
  readonly note?: ReactNode;
}

/** A few key figures. */
export function Figures({ figures }: { readonly figures: readonly Figure[] }) {
  return (
    <dl className="figures">
      {figures.map(({ name, value, note }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
          {note === undefined ? null : <dd className="note">{note}</dd>}
        </div>
      ))}
    </dl>
  );
}

interface FactsProps {
  /** By name; empty values are left out. */
  readonly facts: Readonly<Record<string, ReactNode>>;
  /** The one that gets a line of its own. */
  readonly wide?: string;
}

/** Names and values of one thing. */
export function Facts({ facts, wide }: FactsProps) {
  const known = Object.entries(facts).filter(([, value]) => value || value === 0);
  return (
    <dl className="facts">
      {known.map(([name, value]) => (
        <div key={name} className={name === wide ? "wide" : undefined}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
