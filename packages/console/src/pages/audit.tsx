import type { ReactNode } from "react";
import { Link } from "wouter";
import type { AuditItem, OperatorsAnswer, PageOf } from "../contract.ts";
import { useAnswer } from "../data/queries.ts";
import {
  AUDIT_KINDS,
  groupEntries,
  type Placeholder,
  piecesOf,
  sentenceOf,
} from "../field/audit-sentences.ts";
import { failureInWords, readInstant, writeCount } from "../field/format.ts";
import { AddressSelect, InstantRange } from "../parts/field.tsx";
import { type Column, ListPage, useList } from "../parts/list.tsx";
import { Empty } from "../parts/page.tsx";
import { ClientLink, Instant, PropertyLink, RequestLink, Who } from "../parts/values.tsx";
import { useFilters } from "../routing/filters.ts";
import { ClientFilter } from "./clients.tsx";

/** Consecutive entries with the same sentence, newest first. */
type AuditEvent = readonly AuditItem[];

const newestOf = (event: AuditEvent) => event[0] as AuditItem;

const COLUMNS: readonly Column<AuditEvent>[] = [
  { head: "When", lead: true, cell: (event) => <Instant at={newestOf(event).occurredAt} /> },
  { head: "What happened", prose: true, cell: (event) => <Sentence event={event} /> },
];

export function AuditPage() {
  const { filters } = useFilters();
  const { who = "", what = "", clientId = "", from = "", to = "" } = Object.fromEntries(filters);
  const parameters = { who, what, clientId, from: readInstant(from), to: readInstant(to, "end") };
  const asked = useList<PageOf<AuditItem>>("audit", parameters, { limit: 100 });
  const { data } = asked;
  const events = data && { items: groupEntries(data.items), nextCursor: data.nextCursor };
  return (
    <ListPage
      title="Audit"
      lead="Changes and refusals, newest first: by operators here, by the command line, by partners and by the service."
      asked={{ ...asked, data: events }}
      filters={
        <>
          <WhoFilter />
          <AddressSelect name="what" label="What" options={AUDIT_KINDS} />
          <ClientFilter />
          <InstantRange from="From" to="To" />
        </>
      }
      caption="Audit entries, newest first"
      columns={COLUMNS}
      keyOf={(entries) => newestOf(entries).auditId}
      detail={{ of: (entries) => <Details event={entries} /> }}
      look="audit"
      noun={["event"]}
      empty={({ nextCursor }) => <NoEntries isFiltered={filters.size > 0} hasMore={nextCursor != null} />}
      lines={12}
      // The file has ungrouped entries.
      csv="occurredAt who role what clientId clientName detail"
    />
  );
}

function NoEntries({ isFiltered, hasMore }: { isFiltered: boolean; hasMore: boolean }) {
  if (!hasMore) return <Empty title={isFiltered ? "No entry matches these filters" : "No entries yet"} />;
  return (
    <Empty title="No entry on this page matches">
      A page searches a limited number of entries. The next page searches older ones.
    </Empty>
  );
}

const KINDS_OF_ACTORS = [
  ["", "Anybody"],
  ["console:", "Any operator"],
  ["cli:", "The command line"],
  ["client:", "Partners"],
  ["service", "The service"],
] as const;

/** Lists the actor that the address names even if it has no account. */
function WhoFilter() {
  const { data } = useAnswer<OperatorsAnswer>("operators");
  const chosen = useFilters().filters.get("who") ?? "";
  const operators = (data?.items ?? []).map(({ name }) => `console:${name}`);
  const known = new Set([...KINDS_OF_ACTORS.map(([value]) => value as string), ...operators]);
  const more = known.has(chosen) ? operators : [...operators, chosen];
  const named = more.map((who) => [who, who.replace("console:", "")] as const);
  return <AddressSelect<string> name="who" label="Who" options={[...KINDS_OF_ACTORS, ...named]} />;
}

function Sentence({ event }: { event: AuditEvent }) {
  const entry = newestOf(event);
  return (
    <>
      <Actor entry={entry} />{" "}
      {piecesOf(sentenceOf(entry.what)).map((piece, place) =>
        typeof piece === "string" ? (
          piece
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a sentence keep their places
          <Value key={place} event={event} of={piece} />
        ),
      )}
      <Reason detail={entry.detail} />
    </>
  );
}

function Reason({ detail: { reason, why } }: Pick<AuditItem, "detail">) {
  const given = reason ?? why;
  return typeof given === "string" && given !== "" && <span className="muted">: “{given}”</span>;
}

function Actor({ entry: { who, role, clientId, clientName, detail } }: { entry: AuditItem }) {
  // An account at the provider that belongs to no operator.
  if (who === "console")
    return <strong>{writeValue(detail["email"] ?? detail["subject"] ?? "An unknown account")}</strong>;
  return <Who who={who} role={role} clientName={who === `client:${clientId}` ? clientName : null} />;
}

/** A variable part of the sentence. */
function Value({ event, of: { name, choice } }: { event: AuditEvent; of: Placeholder }): ReactNode {
  const { who, clientId, clientName, detail } = newestOf(event);
  if (name === "count")
    return event.length === 1 ? choice?.[0] : `${writeCount(event.length)} ${choice?.[1]}`;
  if (choice !== undefined) return detail[name] === true ? choice[0] : choice[1];
  if (name.endsWith(" client"))
    return who === `client:${clientId}` ? null : (
      <>
        {name.slice(0, -"client".length)}
        <Value event={event} of={{ name: "client", choice: undefined }} />
      </>
    );
  if (name === "client")
    return clientId === null ? "a client" : <ClientLink clientId={clientId} name={clientName} />;
  if (name === "property") return <PropertyOf detail={detail} />;
  const page = PAGES[name];
  if (page !== undefined) return <Link to={`${page.path}/${String(detail[page.id])}`}>{page.text}</Link>;
  if (detail[name] === undefined) return null;
  const text = writeValue(detail[name]);
  return <b>{name === "name" ? failureInWords(text) : text}</b>;
}

const PAGES: Readonly<Record<string, { readonly path: string; readonly id: string; readonly text: string }>> =
  {
    backfill: { path: "/backfills", id: "backfillId", text: "a backfill" },
    certification: { path: "/certifications", id: "certificationId", text: "a certification" },
    webhook: { path: "/webhooks", id: "endpointId", text: "a webhook" },
  };

function PropertyOf({ detail: { clientCode, propertyCode, requestId } }: Pick<AuditItem, "detail">) {
  if (typeof clientCode !== "string")
    return typeof requestId === "string" ? <RequestLink requestId={requestId} /> : "every client code";
  return typeof propertyCode === "string" ? (
    <PropertyLink of={{ clientCode, propertyCode }} />
  ) : (
    <b>{clientCode}</b>
  );
}

function writeValue(value: unknown): string {
  if (value === null) return "nothing";
  if (typeof value === "string") return value === "*/*" ? "every property" : value;
  if (Array.isArray(value) && value.every((each) => typeof each === "string"))
    return value.length === 0 ? "none" : value.map(writeValue).join(", ");
  return JSON.stringify(value);
}

/** The stored entries. */
function Details({ event }: { event: AuditEvent }) {
  return event.map(({ auditId, occurredAt, who, what, clientId, detail }) => (
    <dl key={auditId} className="changes">
      <div>
        <dt>Entry</dt>
        <dd>
          <code>{what}</code> by <code>{who}</code>, <Instant at={occurredAt} />
        </dd>
      </div>
      {Object.entries({ clientId, ...detail })
        .filter(([, value]) => value !== null && value !== undefined)
        .map(([name, value]) => (
          <div key={name}>
            <dt className="sentence">{failureInWords(name)}</dt>
            <dd>{writeValue(value)}</dd>
          </div>
        ))}
    </dl>
  ));
}
