import { Link } from "wouter";
import type { ClientItem, Page as PageOf } from "../contract.ts";
import { addressOf } from "../data/call.ts";
import { useAnswer } from "../data/queries.ts";
import { writeCount, writeMany } from "../field/amounts.ts";
import { Badge } from "../parts/badge.tsx";
import { LinkButton } from "../parts/button.tsx";
import { ExportButton } from "../parts/export-button.tsx";
import { Instant } from "../parts/instant.tsx";
import { Page } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { Answered, Empty } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { TextFilter } from "../parts/text-filter.tsx";
import { useFilters } from "../routing/filters.ts";

const LIMIT = 50;

const COLUMNS: readonly Column<ClientItem>[] = [
  {
    head: "Client",
    lead: true,
    cell: ({ clientId, name }) => <Link to={`/clients/${clientId}`}>{name}</Link>,
  },
  { head: "Id", cell: ({ clientId }) => <span className="mono small break">{clientId}</span> },
  {
    head: "State",
    cell: ({ revokedAt }) => (revokedAt === null ? "live" : <Badge icon="off">revoked</Badge>),
  },
  { head: "Grants", end: true, cell: ({ grantTotal }) => writeCount(grantTotal) },
  {
    head: "Requests/s",
    end: true,
    cell: ({ requestRate }) =>
      requestRate === null ? <span className="muted">default</span> : writeCount(requestRate),
  },
  { head: "Last used", cell: ({ lastUsedAt }) => <Instant at={lastUsedAt} as="ago" /> },
  { head: "Created", cell: ({ createdAt }) => <Instant at={createdAt} /> },
];

/** Who may send. */
export function ClientsPage() {
  const { filters, change } = useFilters();
  const asked = useAnswer<PageOf<ClientItem>>(
    addressOf("clients", {
      search: filters.get("search") ?? undefined,
      cursor: filters.get("cursor") ?? undefined,
      limit: LIMIT,
    }),
  );
  return (
    <Page
      title="Clients"
      lead="The partners' OAuth clients: who may send, for which hotels, and how much."
      actions={
        <>
          <ExportButton name="clients" rows={() => toRows(asked.data?.items ?? [])} />
          <LinkButton kind="main" to="/clients/new">
            New client
          </LinkButton>
        </>
      }
    >
      <search className="filters">
        <TextFilter
          label="Part of a name or id"
          first
          wide
          value={filters.get("search") ?? ""}
          onChange={(search) => change({ search }, "replace")}
        />
      </search>
      <Answered asked={asked} lines={8}>
        {({ items, nextCursor }) => (
          <>
            {items.length === 0 ? (
              <NoClients isFiltered={filters.size > 0} />
            ) : (
              <Table
                caption="Clients, oldest first"
                columns={COLUMNS}
                rows={items}
                keyOf={({ clientId }) => clientId}
              />
            )}
            <Pager nextCursor={nextCursor} shown={writeMany(items.length, "client")} />
          </>
        )}
      </Answered>
    </Page>
  );
}

function NoClients({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered) return <Empty title="No client has this in its name or id" />;
  return (
    <Empty
      title="No client yet"
      actions={
        <LinkButton kind="main" to="/clients/new">
          New client
        </LinkButton>
      }
    >
      A partner needs a client id and a secret to send anything.
    </Empty>
  );
}

function toRows(items: readonly ClientItem[]): (string | number | null)[][] {
  return [
    [
      "clientId",
      "name",
      "scopes",
      "grants",
      "requestRate",
      "requestBurst",
      "tokenBurst",
      "createdAt",
      "lastUsedAt",
      "revokedAt",
    ],
    ...items.map((item) => [
      item.clientId,
      item.name,
      item.scopes.join(" "),
      item.grantTotal,
      item.requestRate,
      item.requestBurst,
      item.tokenBurst,
      item.createdAt,
      item.lastUsedAt,
      item.revokedAt,
    ]),
  ];
}
