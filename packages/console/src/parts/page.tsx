import { type ReactNode, useEffect, useRef } from "react";
import { Link, useLocation } from "wouter";
import type { Asked, CallError } from "../data/queries.ts";
import { useRecent, type Visit } from "../data/recent.ts";
import { writeAgo } from "../field/format.ts";
import { useListPage } from "../routing/filters.ts";
import { helpFor } from "../shell/places.ts";
import { Button, Icon } from "./button.tsx";

interface Crumb {
  readonly to: string;
  readonly text: string;
}

export interface PageProps {
  readonly title: string;
  readonly heading?: ReactNode;
  /** At the end of the heading's line. */
  readonly beside?: ReactNode;
  readonly lead?: ReactNode;
  /** The pages above this one. */
  readonly crumbs?: readonly Crumb[];
  /** The name in the breadcrumbs, if the title is longer. */
  readonly here?: string;
  /** The entry in the search's list of recently opened objects. */
  readonly visit?: Visit | undefined;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** Moves the focus to the heading when the page changes. */
export function Page(props: PageProps) {
  const { title, heading = title, beside, lead, crumbs = [], here = title, visit, actions, children } = props;
  const head = useRef<HTMLHeadingElement>(null);
  const [path] = useLocation();
  const { number = 1 } = useListPage();
  // Distinguishes entries in the browser's history.
  const place = number === 1 ? "" : `page ${number}`;
  useEffect(() => {
    document.title = `${title}${place === "" ? "" : `, ${place}`} · Bellhop console`;
  }, [title, place]);
  useArrival(path, head);
  useNoted(visit);
  return (
    <>
      <header className="page-head">
        <div className="titles">
          {crumbs.length !== 0 && (
            <nav aria-label="Breadcrumb">
              <ol className="crumbs">
                {crumbs.map(({ to, text }) => (
                  <li key={to}>
                    <Link to={to}>{text}</Link>
                  </li>
                ))}
                <li aria-current="page">{here}</li>
              </ol>
            </nav>
          )}
          <div className="title-line">
            <h1 ref={head} tabIndex={-1}>
              {heading}
            </h1>
            {beside}
          </div>
          {lead !== undefined && <div className="lead">{lead}</div>}
          <p className="unseen" role="status">
            {place}
          </p>
        </div>
        <div className="actions">
          {actions}
          <a className="button help" data-kind="quiet" href={helpFor(path)} title="Help about this page">
            <Icon name="help" size={16} />
            <span>
              Help<span className="unseen"> about this page</span>
            </span>
          </a>
        </div>
      </header>
      {children}
    </>
  );
}

let arrivedAt: string | undefined;

/** The first page keeps the browser's focus. */
function useArrival(path: string, head: { readonly current: HTMLElement | null }): void {
  useEffect(() => {
    if (arrivedAt !== undefined && arrivedAt !== path) {
      head.current?.focus({ preventScroll: true });
      window.scrollTo(0, 0);
    }
    arrivedAt = path;
  }, [path, head]);
}

function useNoted(visit: Visit | undefined): void {
  const { note } = useRecent();
  const { to, text, note: about } = visit ?? {};
  // biome-ignore lint/correctness/useExhaustiveDependencies: once per object and name
  useEffect(() => {
    if (to !== undefined && text !== undefined) note({ to, text, note: about ?? "" });
  }, [to, text, about]);
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

interface Figure {
  readonly name: string;
  readonly value: ReactNode;
  readonly note?: ReactNode;
}

export function Figures({ figures }: { figures: readonly Figure[] }) {
  return (
    <dl className="figures">
      {figures.map(({ name, value, note }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
          {note !== undefined && <dd className="note">{note}</dd>}
        </div>
      ))}
    </dl>
  );
}

export function Facts({ facts, wide }: { facts: Readonly<Record<string, ReactNode>>; wide?: string }) {
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

interface EmptyProps {
  readonly title: string;
  readonly children?: ReactNode;
  readonly actions?: ReactNode;
}

export function Empty({ title, children, actions }: EmptyProps) {
  return (
    <div className="empty">
      <strong>{title}</strong>
      {children !== undefined && <p>{children}</p>}
      {actions !== undefined && <div className="form-actions">{actions}</div>}
    </div>
  );
}

export function Waiting({ lines = 6 }: { lines?: number }) {
  return (
    <div className="waiting">
      <span className="unseen" role="status">
        Loading
      </span>
      {Array.from({ length: lines }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are identical
        <i key={line} />
      ))}
    </div>
  );
}

interface NoticeProps {
  readonly tone?: "plain" | "warn" | "bad";
  readonly title: string;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
}

export function Notice({ tone = "plain", title, children, action }: NoticeProps) {
  return (
    <div className="notice" data-tone={tone} role={tone === "bad" ? "alert" : undefined}>
      {tone !== "plain" && <Icon name={tone} size={16} />}
      <div className="stack">
        <strong>{title}</strong>
        {children !== undefined && <div>{children}</div>}
      </div>
      {action}
    </div>
  );
}

function adviceOn({ status, retryAfterSeconds }: CallError): string {
  if (status === 0) return "Check that the service runs, then try again.";
  if (status === 404) return "It may have been removed, or the link may be cut short.";
  if (status === 409) return "It is not as it was shown: look again.";
  if (status === 400 || status === 422) return "Correct the filters or the address above.";
  if (retryAfterSeconds !== undefined) return `Try again in ${retryAfterSeconds} seconds.`;
  if (status >= 500) return "Try again; if it stays, the service's log says more.";
  return "Try again.";
}

export function Failure({ error, onRetry }: { error: CallError | null; onRetry?: () => unknown }) {
  if (error === null) return null;
  const retry = onRetry === undefined ? undefined : <Button onClick={onRetry}>Try again</Button>;
  return (
    <Notice tone="bad" title={error.message} action={retry}>
      {adviceOn(error)} {error.exception !== "" && <code className="small break">{error.exception}</code>}
    </Notice>
  );
}

interface AnswerProps<Answer> {
  readonly asked: Asked<Answer>;
  readonly lines?: number;
  readonly children: (answer: Answer) => ReactNode;
}

/** The response, or its loading or error state. The previous response stays while refetching, and if that fails. */
export function Answered<Answer>({ asked, lines = 6, children }: AnswerProps<Answer>) {
  const { data, error, dataUpdatedAt, isOld = false } = asked;
  // As rendered for the filters of the response, not for those chosen since.
  const drawn = useRef<ReactNode>(undefined);
  if (data === undefined)
    return error === null ? <Waiting lines={lines} /> : <Failure error={error} onRetry={asked.refetch} />;
  if (!isOld || drawn.current === undefined) drawn.current = children(data);
  return (
    <>
      {error !== null && (
        <Notice
          tone="warn"
          title={`Not up to date: ${error.message}`}
          action={<Button onClick={asked.refetch}>Try again</Button>}
        >
          This answer came {writeAgo(new Date(dataUpdatedAt).toISOString())}.
        </Notice>
      )}
      {isOld && <span className="renewing" />}
      {drawn.current}
    </>
  );
}

interface DetailPageProps<Answer> extends Omit<PageProps, "actions" | "children"> {
  readonly asked: Asked<Answer>;
  readonly actions?: (answer: Answer) => ReactNode;
  readonly children: (answer: Answer) => ReactNode;
}

/** A page of one object; its actions appear with the response. */
export function DetailPage<Answer>({ asked, actions, children, ...page }: DetailPageProps<Answer>) {
  const [path] = useLocation();
  const above = page.crumbs?.at(-1);
  return (
    <Page
      {...page}
      visit={asked.data === undefined ? undefined : { to: path, text: page.title, note: above?.text ?? "" }}
      actions={asked.data !== undefined && actions?.(asked.data)}
    >
      <Answered asked={asked} lines={10}>
        {children}
      </Answered>
    </Page>
  );
}
