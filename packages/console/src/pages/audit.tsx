import type { AuditItem, Page as PageOf } from "../contract.ts";
import { addressOf } from "../data/call.ts";
import { useAnswer } from "../data/use-answer.ts";
import { writeMany } from "../field/amounts.ts";
import { ExportButton } from "../parts/export-button.tsx";
import { Instant } from "../parts/instant.tsx";
import { Page } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { Answered, Empty } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { TextFilter } from "../parts/text-filter.tsx";
import { useFilters } from "../routing/address.ts";
import { Link } from "../routing/link.tsx";

const LIMIT = 100;

const COLUMNS: readonly Column<AuditItem>[] = [
  { head: "When", lead: true, cell: ({ occurredAt }) => <Instant at={occurredAt} /> },
  { head: "Who", cell: ({ who }) => who },
  { head: "What", cell: ({ what }) => what.replaceAll("-", " ") },
  {
    head: "Client",
    cell: ({ clientId }) =>
      clientId === null ? null : (
        <Link to={`/clients/${clientId}`} className="mono small break">
          {clientId}
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
      actions={<ExportButton name="audit" rows={() => toRows(asked.answer?.items ?? [])} />}
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
    <span className="break">
      {told.map(([name, value]) => (
        <span key={name} className="detail">
          <span className="muted">{name}</span> {typeof value === "string"
            ? value
            : JSON.stringify(value)}{" "}
        </span>
      ))}
    </span>
  );
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
