import { Link } from "wouter";
import type { ClientItem, PageOf } from "../contract.ts";
import { writeCount } from "../field/format.ts";
import { LinkButton } from "../parts/button.tsx";
import { AddressFilter } from "../parts/field.tsx";
import { ListPage, useList } from "../parts/list.tsx";
import { Empty } from "../parts/states.tsx";
import type { Column } from "../parts/table.tsx";
import { Badge, Instant } from "../parts/values.tsx";
import { useFilters } from "../routing/filters.ts";

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

/** The partners' clients. */
export function ClientsPage() {
  const { filters } = useFilters();
  const newClient = (
    <LinkButton kind="main" to="/clients/new">
      New client
    </LinkButton>
  );
  return (
    <ListPage
      title="Clients"
      lead="The partners' OAuth clients: which hotels each may push and read, and its rate limits."
      actions={newClient}
      asked={useList<PageOf<ClientItem>>("clients", { search: filters.get("search") ?? "" })}
      filters={<AddressFilter name="search" label="Part of a name or id" first wide />}
      caption="Clients, oldest first"
      columns={COLUMNS}
      keyOf={({ clientId }) => clientId}
      noun={["client"]}
      empty={
        filters.size > 0 ? (
          <Empty title="No client has this in its name or id" />
        ) : (
          <Empty title="No clients yet" actions={newClient}>
            A partner needs a client id and a secret to send batches.
          </Empty>
        )
      }
      csv="clientId name scopes grants requestRate requestBurst tokenBurst createdAt lastUsedAt revokedAt"
      csvRow={(item) => ({ ...item, grants: item.grantTotal })}
    />
  );
}
