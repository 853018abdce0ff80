import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { Link } from "wouter";
import type { Outcome, Payload, Resource } from "../contract.ts";
import { useMay } from "../data/queries.ts";
import {
  historyPath,
  propertyPath,
  shortId,
  writeAgo,
  writeCount,
  writeExactInstant,
  writeInstant,
  writeShare,
  zoneName,
} from "../field/format.ts";
import { layOutJson } from "../field/json-lines.ts";
import { Button, Icon, type IconName } from "./button.tsx";
import { usePropertyView } from "./property-view.tsx";

type Tone = "plain" | "accent" | "warn" | "bad";

interface BadgeProps {
  readonly tone?: Tone;
  readonly icon?: IconName;
  readonly children: ReactNode;
}

/** The normal state is plain. */
export function Badge({ tone = "plain", icon, children }: BadgeProps) {
  const shown = icon ?? (tone === "warn" || tone === "bad" ? tone : undefined);
  return (
    <span className="badge" data-tone={tone}>
      {shown !== undefined && <Icon name={shown} size={12} />}
      {children}
    </span>
  );
}

const TONES: Partial<Record<Outcome | "pending", Tone>> = {
  pending: "accent",
  quarantined: "warn",
  rejected: "bad",
};

export function OutcomeBadge({ outcome }: { outcome: Outcome | "pending" }) {
  return <Badge tone={TONES[outcome] ?? "plain"}>{outcome}</Badge>;
}

/** Longer names may break. */
const CHARACTERS_ON_ONE_LINE = 32;

/** One line unless it is long. */
export function Word({ children, mono = false }: { children: string; mono?: boolean }) {
  const breaks = children.length > CHARACTERS_ON_ONE_LINE ? "break" : "nowrap";
  return <span className={mono ? `mono small ${breaks}` : breaks}>{children}</span>;
}

export function orDash<Value extends string | number>(
  value: Value | null | undefined,
  write: (value: Value) => ReactNode = (known) => known,
): ReactNode {
  return value === null || value === undefined ? <span className="muted">–</span> : write(value);
}

interface InstantProps {
  readonly at: string | null;
  /** `exact`: with all digits. */
  readonly as?: "full" | "exact" | "ago";
}

/** In UTC; on a property's pages in the zone that the operator chose. */
export function Instant({ at, as = "full" }: InstantProps) {
  const { timeZone } = usePropertyView();
  if (at === null) return <span className="muted">never</span>;
  const written = {
    ago: () => writeAgo(at),
    exact: () => writeExactInstant(at, timeZone),
    full: () => (
      <>
        {writeInstant(at, timeZone)} <span className="zone">{zoneName(at, timeZone)}</span>
      </>
    ),
  };
  return (
    <time dateTime={at} title={writeExactInstant(at, timeZone)} className="nowrap">
      {written[as]()}
    </time>
  );
}

interface NamedProperty {
  /** Null: unreadable. */
  readonly clientCode: string | null;
  readonly propertyCode: string | null;
}

export function PropertyLink({ of, to = "/property" }: { of: NamedProperty; to?: string }) {
  const { clientCode, propertyCode } = of;
  if (clientCode === null || propertyCode === null) return <span className="muted">unreadable</span>;
  return (
    <Link to={propertyPath(to, { clientCode, propertyCode })}>
      <Word>{`${clientCode} / ${propertyCode}`}</Word>
    </Link>
  );
}

export function RequestLink({ requestId, index }: { requestId: string; index?: number }) {
  return (
    <Link className="nowrap" to={`/requests/${requestId}${index === undefined ? "" : `/${index}`}`}>
      request {shortId(requestId)}
    </Link>
  );
}

/** A client's name or id, linked if the operator may open it. */
export function ClientLink({ clientId, name }: { clientId: string; name?: string | null }) {
  const text = name ?? clientId;
  return useMay()("read-clients") ? <Link to={`/clients/${clientId}`}>{text}</Link> : text;
}

interface WhoProps {
  /** As in the audit: `console:anna`, `cli:root`, `client:<id>`, `service`. */
  readonly who: string;
  /** Of a client. */
  readonly clientName?: string | null;
  /** The operator's role at that time. */
  readonly role?: string | null;
}

export function Who({ who, clientName, role }: WhoProps) {
  const [kind = "", name = ""] = [who.split(":", 1)[0], who.slice(who.indexOf(":") + 1)];
  if (who === "service") return <strong>The service</strong>;
  if (kind === "client")
    return (
      <>
        <ClientLink clientId={name} name={clientName ?? null} /> <span className="muted">(partner)</span>
      </>
    );
  const note = kind === "cli" ? "command line" : role;
  return (
    <>
      <strong>{name}</strong> {note != null && <span className="muted">({note})</span>}
    </>
  );
}

/** A share of 0 to 1, with its bar. */
export function Share({ of }: { of: number }) {
  return (
    <>
      {writeShare(of)}
      <ShareBar of={of} />
    </>
  );
}

export function ShareBar({ of }: { of: number }) {
  return (
    <span className="share-bar" aria-hidden="true">
      <i style={{ width: `${Math.min(Math.max(of, 0), 1) * 100}%` }} />
    </span>
  );
}

interface HistoryLinkProps {
  readonly codes: { readonly clientCode: string; readonly propertyCode: string };
  readonly resource: Resource;
  readonly of: string;
}

export function HistoryLink({ codes, resource, of }: HistoryLinkProps) {
  return <Link to={historyPath(codes, resource, of)}>{of}</Link>;
}

export function Copyable({ text, what }: { text: string; what: string }) {
  const [copied, setCopied] = useState<"yes" | "failed">();
  const copy = () => {
    // Insecure pages have no clipboard.
    const done = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error("no clipboard"));
    done.then(
      () => setCopied("yes"),
      () => setCopied("failed"),
    );
  };
  return (
    <div className="copyable">
      <code data-testid={what}>{text}</code>
      <Button onClick={copy}>{copied === "yes" ? "Copied" : "Copy"}</Button>
      <span className="unseen" role="status">
        {copied === "yes" ? `The ${what} is in the clipboard` : ""}
        {copied === "failed" ? "It could not be copied: select the text" : ""}
      </span>
    </div>
  );
}

/** Renders its content once opened. */
export function Disclosure({ summary, children }: { summary: string; children: ReactNode }) {
  const [wasOpened, setWasOpened] = useState(false);
  return (
    <details onToggle={(event) => setWasOpened((before) => before || event.currentTarget.open)}>
      <summary>{summary}</summary>
      {wasOpened ? children : null}
    </details>
  );
}

interface PayloadViewProps {
  readonly payload: Payload;
  /** RFC 6901 pointers into the record. */
  readonly marked?: readonly string[];
}

/** Shown at a time: more would keep the browser busy for seconds. A reservation of a year of nights has about 5,000. */
const LINES_SHOWN = 5_000;
/** Fits a text of 4,096 characters with all of them escaped as two. */
const LINE_CHARACTERS_MAX = 8_200;

function shorten(text: string): string {
  return text.length > LINE_CHARACTERS_MAX ? `${text.slice(0, LINE_CHARACTERS_MAX)}…` : text;
}

/** A record verbatim, as formatted lines. */
export function PayloadView({ payload, marked = [] }: PayloadViewProps) {
  const [linesMax, setLinesMax] = useState(LINES_SHOWN);
  const { lines, isWhole } = useMemo(() => layOutJson(payload.text, linesMax), [payload.text, linesMax]);
  const isMarked = useMemo(() => {
    const pointers = new Set(marked);
    const longest = Math.max(0, ...marked.map(({ length }) => length));
    // Hashing a pointer would copy the long names of all its levels.
    return ({ pointer }: { pointer: string }) => pointer.length <= longest && pointers.has(pointer);
  }, [marked]);
  const first = useRef<HTMLLIElement>(null);
  const firstMarked = lines.findIndex(isMarked);
  useEffect(() => {
    if (firstMarked > 12) first.current?.scrollIntoView({ block: "nearest" });
  }, [firstMarked]);
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by keyboard */}
      <section className="payload mono" aria-label="Payload of the record" tabIndex={0}>
        <ol>
          {lines.map((line, place) => (
            <li
              key={line.at}
              ref={place === firstMarked ? first : undefined}
              data-marked={isMarked(line) ? "" : undefined}
            >
              {"  ".repeat(line.depth)}
              {line.name !== undefined && <span className="name">{shorten(line.name)}: </span>}
              {shorten(line.text)}
            </li>
          ))}
        </ol>
      </section>
      {!isWhole && <Button onClick={() => setLinesMax(linesMax + LINES_SHOWN)}>Show more lines</Button>}
      <p className="small muted">
        {writeCount(payload.bytes)} bytes{payload.truncated ? ", of which the beginning is shown" : ""}
      </p>
    </>
  );
}
