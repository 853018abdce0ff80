import { Link } from "wouter";
import type { BackfillListItem, PageOf } from "../contract.ts";
import { AddressSelect } from "../parts/field.tsx";
import { ListPage, useList } from "../parts/list.tsx";
import { Empty } from "../parts/states.tsx";
import type { Column } from "../parts/table.tsx";
import { Badge, Instant, Word } from "../parts/values.tsx";
import { useFilters } from "../routing/filters.ts";

const COLUMNS: readonly Column<BackfillListItem>[] = [
  {
    head: "Property",
    lead: true,
    cell: ({ backfillId, clientCode, propertyCode }) => (
      <Link to={`/backfills/${backfillId}`}>
        <Word>{`${clientCode} / ${propertyCode}`}</Word>
      </Link>
    ),
  },
  { head: "State", cell: ({ state }) => <Badge tone={state === "open" ? "accent" : "plain"}>{state}</Badge> },
  { head: "Opened", cell: ({ openedAt }) => <Instant at={openedAt} /> },
  { head: "Ended", cell: ({ endedAt }) => (endedAt === null ? null : <Instant at={endedAt} />) },
  { head: "Signed by", cell: ({ signatures }) => signatures.map(({ side }) => side).join(" and ") },
  { head: "Note", prose: true, cell: ({ note }) => note ?? "" },
];

/** The first loads of hotels, newest first. */
export function BackfillsPage() {
  const state = useFilters().filters.get("state") ?? "";
  return (
    <ListPage
      title="Backfills"
      lead="The first load of a hotel: what the partner announced, what arrived, and who signed it."
      asked={useList<PageOf<BackfillListItem>>("backfills", { state })}
      filters={
        <AddressSelect
          name="state"
          label="State"
          options={{ "": "Any", open: "open", closed: "closed", abandoned: "abandoned" }}
        />
      }
      caption="Backfills, newest first"
      columns={COLUMNS}
      keyOf={({ backfillId }) => backfillId}
      noun={["backfill"]}
      empty={
        <Empty title={state === "" ? "No backfills yet" : `No backfill is ${state}`}>
          A partner opens one before it sends a hotel's history and reservations.
        </Empty>
      }
      csv="backfillId clientId clientCode propertyCode state openedAt endedAt statementHash partnerSignedBy partnerSignedAt operatorSignedBy operatorSignedAt note"
      csvRow={(item) =>
        Object.assign(
          { ...item },
          ...item.signatures.map(({ side, signedBy, signedAt }) => ({
            [`${side}SignedBy`]: signedBy,
            [`${side}SignedAt`]: signedAt,
          })),
        )
      }
    />
  );
}
