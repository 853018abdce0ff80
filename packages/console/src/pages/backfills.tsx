import { Link } from "wouter";
import type { BackfillListItem, Page as PageOf } from "../contract.ts";
import { addressOf } from "../data/call.ts";
import { useAnswer } from "../data/queries.ts";
import { writeMany } from "../field/amounts.ts";
import { Badge } from "../parts/badge.tsx";
import { ExportButton } from "../parts/export-button.tsx";
import { SelectField } from "../parts/field.tsx";
import { Instant } from "../parts/instant.tsx";
import { Page } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { Answered, Empty } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Word } from "../parts/word.tsx";
import { useFilters } from "../routing/filters.ts";

const LIMIT = 50;

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

/** Cold starts as sessions, newest first. */
export function BackfillsPage() {
  const { filters, change } = useFilters();
  const state = filters.get("state") ?? "";
  const asked = useAnswer<PageOf<BackfillListItem>>(
    addressOf("backfills", { state, cursor: filters.get("cursor") ?? "", limit: LIMIT }),
  );
  return (
    <Page
      title="Backfills"
      lead="Cold starts of hotels: what was said to be coming, what has come, and who stands by it."
      actions={<ExportButton name="backfills" rows={() => toRows(asked.data?.items ?? [])} />}
    >
      <search className="filters">
        <SelectField
          label="State"
          value={state}
          options={[
            ["", "Any"],
            ["open", "open"],
            ["closed", "closed"],
            ["abandoned", "abandoned"],
          ]}
          onChange={(wanted) => change({ state: wanted })}
        />
      </search>
      <Answered asked={asked} lines={8}>
        {({ items, nextCursor }) => (
          <>
            {items.length === 0 ? (
              <Empty title={state === "" ? "There is no backfill" : `No backfill is ${state}`}>
                A partner opens one before it sends a hotel's past and books.
              </Empty>
            ) : (
              <Table
                caption="Backfills, newest first"
                columns={COLUMNS}
                rows={items}
                keyOf={({ backfillId }) => backfillId}
              />
            )}
            <Pager nextCursor={nextCursor} shown={writeMany(items.length, "backfill")} />
          </>
        )}
      </Answered>
    </Page>
  );
}

function toRows(items: readonly BackfillListItem[]): (string | null)[][] {
  const signed = ({ signatures }: BackfillListItem, by: "partner" | "operator") => {
    const signature = signatures.find(({ side }) => side === by);
    return [signature?.signedBy ?? null, signature?.signedAt ?? null];
  };
  return [
    [
      "backfillId",
      "clientId",
      "clientCode",
      "propertyCode",
      "state",
      "openedAt",
      "endedAt",
      "statementHash",
      "partnerSignedBy",
      "partnerSignedAt",
      "operatorSignedBy",
      "operatorSignedAt",
      "note",
    ],
    ...items.map((item) => [
      item.backfillId,
      item.clientId,
      item.clientCode,
      item.propertyCode,
      item.state,
      item.openedAt,
      item.endedAt,
      item.statementHash,
      ...signed(item, "partner"),
      ...signed(item, "operator"),
      item.note,
    ]),
  ];
}
