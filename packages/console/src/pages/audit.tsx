import { Link } from "wouter";
import type { AuditItem, Page as PageOf } from "../contract.ts";
import { addressOf } from "../data/call.ts";
import { useAnswer } from "../data/queries.ts";
import { writeMany } from "../field/amounts.ts";
import { ExportButton } from "../parts/export-button.tsx";
import { Instant } from "../parts/instant.tsx";
import { Page } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { Answered, Empty } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { TextFilter } from "../parts/text-filter.tsx";
import { Word } from "../parts/word.tsx";
import { useFilters } from "../routing/filters.ts";

const LIMIT = 100;

const COLUMNS: readonly Column<AuditItem>[] = [
  { head: "When", lead: true, cell: ({ occurredAt }) => <Instant at={occurredAt} /> },
  { head: "Who", cell: ({ who }) => <Word>{who}</Word> },
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

/** Who did what. */
export function AuditPage() {
  const { filters, change } = useFilters();
  const asked = useAnswer<PageOf<AuditItem>>(
    addressOf("audit", {
      who: filters.get("who") ?? undefined,
      clientId: filters.get("clientId") ?? undefined,
      cursor: filters.get("cursor") ?? undefined,
      limit: LIMIT,
    }),
  );
  return (
    <Page
      title="Audit"
      lead="Who did what, newest first: operators here, the command line, and the service itself."
      actions={<ExportButton name="audit" rows={() => toRows(asked.data?.items ?? [])} />}
    >
      <search className="filters">
        <TextFilter
          label="Who (the beginning)"
          first
          placeholder="console:anna"
          value={filters.get("who") ?? ""}
          onChange={(who) => change({ who }, "replace")}
        />
        <TextFilter
          label="Client id"
          value={filters.get("clientId") ?? ""}
          onChange={(clientId) => change({ clientId }, "replace")}
        />
      </search>
      <Answered asked={asked} lines={12}>
        {({ items, nextCursor }) => (
          <>
            {items.length === 0 ? (
              <Empty title={filters.size > 0 ? "No entry fits these filters" : "Nothing has been done yet"} />
            ) : (
              <Table
                caption="Audit entries, newest first"
                columns={COLUMNS}
                rows={items}
                keyOf={({ auditId }) => auditId}
              />
            )}
            <Pager nextCursor={nextCursor} shown={writeMany(items.length, "entry", "entries")} />
          </>
        )}
      </Answered>
    </Page>
  );
}

function Detail({ detail }: { readonly detail: AuditItem["detail"] }) {
  const told = Object.entries(detail).filter(([, value]) => value !== null && value !== undefined);
  return (
    <ul className="detail">
      {told.map(([name, value]) => (
        <li key={name}>
          <span className="muted">{name}</span> {detailInWords(value)}
        </li>
      ))}
    </ul>
  );
}

/** Lists of words as such; what is deeper as JSON, as the audit keeps it. */
function detailInWords(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every((each) => typeof each === "string"))
    return value.length === 0 ? "none" : value.join(", ");
  return JSON.stringify(value);
}

function toRows(items: readonly AuditItem[]): (string | null)[][] {
  return [
    ["occurredAt", "who", "what", "clientId", "detail"],
    ...items.map(({ occurredAt, who, what, clientId, detail }) => [
      occurredAt,
      who,
      what,
      clientId,
      JSON.stringify(detail),
    ]),
  ];
}
