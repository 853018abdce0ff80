import { Link } from "wouter";
import type { BackfillGap, Page as PageOf } from "../../contract.ts";
import { addressOf } from "../../data/call.ts";
import { useAnswer } from "../../data/queries.ts";
import { writeCount, writeMany } from "../../field/amounts.ts";
import { ExportButton } from "../../parts/export-button.tsx";
import { Section } from "../../parts/page.tsx";
import { Pager } from "../../parts/pager.tsx";
import { Answered, Empty } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { useFilters } from "../../routing/filters.ts";

const LIMIT = 50;
const RENEWED_MS = 10_000;

const COLUMNS: readonly Column<BackfillGap>[] = [
  { head: "What", lead: true, cell: (gap) => whatOf(gap) },
  { head: "Resource", cell: ({ resource }) => resource },
  { head: "Record", cell: (gap) => (gap.kind === "record-failed" ? <FailedLink gap={gap} /> : "") },
  {
    head: "Why",
    prose: true,
    cell: (gap) => (gap.kind === "record-failed" ? (gap.message ?? gap.code ?? "") : ""),
  },
];

function whatOf(gap: BackfillGap): string {
  if (gap.kind === "records-short")
    return `${writeCount(gap.missing)} of ${writeCount(gap.expected)} expected records`;
  if (gap.kind === "date-missing") return gap.date;
  return gap.mended ? `${gap.outcome}, mended since` : gap.outcome;
}

function FailedLink({ gap }: { readonly gap: Extract<BackfillGap, { kind: "record-failed" }> }) {
  return <Link to={`/requests/${gap.requestId}/${gap.index}`}>{gap.key ?? `record ${gap.index}`}</Link>;
}

function keyOf(gap: BackfillGap): string {
  if (gap.kind === "records-short") return gap.resource;
  return gap.kind === "date-missing" ? gap.date : `${gap.requestId}/${gap.index}`;
}

/** What a backfill lacks, page by page. */
export function BackfillGaps({
  backfillId,
  isOpen,
}: {
  readonly backfillId: string;
  readonly isOpen: boolean;
}) {
  const { filters } = useFilters();
  const asked = useAnswer<PageOf<BackfillGap>>(
    addressOf(`backfills/${backfillId}/gaps`, { cursor: filters.get("cursor") ?? "", limit: LIMIT }),
    { againMs: () => (isOpen ? RENEWED_MS : undefined) },
  );
  const rows = () =>
    (asked.data?.items ?? []).map((gap) => [gap.resource, gap.kind, whatOf(gap), keyOf(gap)]);
  return (
    <Section title="What is missing" aside={<ExportButton name="gaps" rows={rows} />}>
      <Answered asked={asked} lines={4}>
        {({ items, nextCursor }) => (
          <>
            {items.length === 0 ? (
              <Empty title="Nothing is missing">
                Every date is covered, and every expected record was applied.
              </Empty>
            ) : (
              <Table caption="What is missing, by resource" columns={COLUMNS} rows={items} keyOf={keyOf} />
            )}
            <Pager nextCursor={nextCursor} shown={writeMany(items.length, "gap")} />
          </>
        )}
      </Answered>
    </Section>
  );
}
