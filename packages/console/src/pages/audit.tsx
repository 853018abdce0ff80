import { Link } from "wouter";
import type { AuditItem, PageOf } from "../contract.ts";
import { AddressFilter } from "../parts/field.tsx";
import { type Column, ListPage, useList } from "../parts/list.tsx";
import { Empty } from "../parts/page.tsx";
import { Instant, Word } from "../parts/values.tsx";
import { useFilters } from "../routing/filters.ts";

const COLUMNS: readonly Column<AuditItem>[] = [
  { head: "When", lead: true, cell: ({ occurredAt }) => <Instant at={occurredAt} /> },
  {
    head: "Who",
    cell: ({ who, role }) => (
      <>
        <Word>{who}</Word> {role === null ? null : <span className="muted">{role}</span>}
      </>
    ),
  },
  { head: "What", cell: ({ what }) => <Word>{what.replaceAll("-", " ")}</Word> },
  {
    head: "Client",
    cell: ({ clientId }) =>
      clientId === null ? null : (
        <Link to={`/clients/${clientId}`}>
          <Word mono>{clientId}</Word>
        </Link>
      ),
  },
  { head: "Detail", prose: true, cell: ({ detail }) => <Detail detail={detail} /> },
];

export function AuditPage() {
  const { filters } = useFilters();
  const { who = "", clientId = "" } = Object.fromEntries(filters);
  return (
    <ListPage
      title="Audit"
      lead="Changes and refusals, newest first: by operators here, by the command line and by the service."
      asked={useList<PageOf<AuditItem>>("audit", { who, clientId }, { limit: 100 })}
      filters={
        <>
          <AddressFilter name="who" label="Who begins with" first placeholder="console:" />
          <AddressFilter name="clientId" label="Client id" />
        </>
      }
      caption="Audit entries, newest first"
      columns={COLUMNS}
      keyOf={({ auditId }) => auditId}
      noun={["entry", "entries"]}
      empty={<Empty title={filters.size > 0 ? "No entry matches these filters" : "No entries yet"} />}
      lines={12}
      csv="occurredAt who role what clientId detail"
    />
  );
}

function Detail({ detail }: { detail: AuditItem["detail"] }) {
  const known = Object.entries(detail).filter(([, value]) => value !== null && value !== undefined);
  return (
    <ul className="detail">
      {known.map(([name, value]) => (
        <li key={name}>
          <span className="muted">{name}</span> {writeDetail(value)}
        </li>
      ))}
    </ul>
  );
}

function writeDetail(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every((each) => typeof each === "string"))
    return value.length === 0 ? "none" : value.join(", ");
  return JSON.stringify(value);
}
