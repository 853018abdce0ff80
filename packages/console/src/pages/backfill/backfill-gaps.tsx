import { Link } from "wouter";
import type { BackfillGap, PageOf } from "../../contract.ts";
import { writeCount } from "../../field/format.ts";
import { ExportButton, List, useList } from "../../parts/list.tsx";
import { Section } from "../../parts/page.tsx";
import { Empty } from "../../parts/states.tsx";
import type { Column } from "../../parts/table.tsx";

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
  return gap.mended ? `${gap.outcome}, fixed since` : gap.outcome;
}

function FailedLink({ gap }: { readonly gap: Extract<BackfillGap, { kind: "record-failed" }> }) {
  return <Link to={`/requests/${gap.requestId}/${gap.index}`}>{gap.key ?? `record ${gap.index}`}</Link>;
}

function keyOf(gap: BackfillGap): string {
  if (gap.kind === "records-short") return gap.resource;
  return gap.kind === "date-missing" ? gap.date : `${gap.requestId}/${gap.index}`;
}

interface BackfillGapsProps {
  readonly backfillId: string;
  readonly isOpen: boolean;
}

/** The dates and records that a backfill is missing, page by page. */
export function BackfillGaps({ backfillId, isOpen }: BackfillGapsProps) {
  const asked = useList<PageOf<BackfillGap>>(
    `backfills/${backfillId}/gaps`,
    {},
    { againMs: () => (isOpen ? RENEWED_MS : undefined) },
  );
  const rows = () => [
    ["resource", "gap", "what", "key"],
    ...(asked.data?.items ?? []).map((gap) => [gap.resource, gap.kind, whatOf(gap), keyOf(gap)]),
  ];
  return (
    <Section title="Missing" aside={<ExportButton name="gaps" rows={rows} />}>
      <List
        asked={asked}
        caption="Missing dates and records of this backfill"
        columns={COLUMNS}
        keyOf={keyOf}
        noun={["gap"]}
        empty={
          <Empty title="Nothing is missing">
            Every date is covered, and every expected record was applied.
          </Empty>
        }
        lines={4}
      />
    </Section>
  );
}
