import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import type { Outcome, RecordItem, RequestAnswer, RequestCounts } from "../contract.ts";
import { addressOf } from "../data/call.ts";
import { type Asked, useAnswer } from "../data/queries.ts";
import { writeCount, writeMany } from "../field/amounts.ts";
import { writeDuration } from "../field/instant.ts";
import { shortId } from "../field/short-id.ts";
import { Badge, OutcomeBadge } from "../parts/badge.tsx";
import { Copyable } from "../parts/copyable.tsx";
import { ExportButton } from "../parts/export-button.tsx";
import { Choice, SelectField } from "../parts/field.tsx";
import { Facts } from "../parts/figures.tsx";
import { Instant } from "../parts/instant.tsx";
import { Page, Section } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { PropertyLink } from "../parts/property-link.tsx";
import { RequestOutcome } from "../parts/request-table.tsx";
import { Answered, Empty } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Word } from "../parts/word.tsx";
import { useFilters } from "../routing/filters.ts";

const LIMIT = 100;
const RENEWED_MS = 1000;
const OUTCOMES: readonly Outcome[] = [
  "applied",
  "unchanged",
  "stale",
  "duplicate",
  "quarantined",
  "discarded",
  "rejected",
];

/** One batch: what became of each of its records. */
export function RequestPage({ params }: { readonly params: { readonly requestId: string } }) {
  const { requestId } = params;
  const { filters } = useFilters();
  const asked = useAnswer<RequestAnswer>(
    addressOf(`requests/${requestId}`, {
      records: filters.get("records") ?? undefined,
      outcome: filters.get("outcome") ?? undefined,
      cursor: filters.get("cursor") ?? undefined,
      limit: LIMIT,
    }),
    {
      // Only while it is being applied: polling keeps a session alive.
      againMs: (answer) => (answer?.status === "accepted" ? RENEWED_MS : undefined),
    },
  );
  const known = useKnown(requestId, asked.data);
  const rows = () => toRows(asked.data?.records ?? []);
  return (
    <Page
      title={`Request ${shortId(requestId)}`}
      crumbs={[{ to: "/requests", text: "Requests" }]}
      actions={<ExportButton name={`request-${requestId}`} rows={rows} />}
    >
      {known === undefined ? (
        <Answered asked={asked} lines={10}>
          {() => null}
        </Answered>
      ) : (
        <Request answer={known} asked={asked} />
      )}
    </Page>
  );
}

/** What is known of the request while other records of it are on their way: what is around them stays, and so does the focus. */
function useKnown(requestId: string, answer: RequestAnswer | undefined): RequestAnswer | undefined {
  const [latest, setLatest] = useState<RequestAnswer>();
  if (answer !== undefined && answer !== latest) setLatest(answer);
  return answer ?? (latest?.requestId === requestId ? latest : undefined);
}

interface RequestProps {
  readonly answer: RequestAnswer;
  /** For the records that are shown. */
  readonly asked: Asked<RequestAnswer>;
}

function Request({ answer, asked }: RequestProps) {
  const { receivedAt, appliedAt } = answer;
  return (
    <>
      <Facts
        facts={[
          ["Received", <Instant key="at" at={receivedAt} />],
          [
            "Applied",
            appliedAt === null
              ? "not yet"
              : `after ${writeDuration(Math.max(0, (Date.parse(appliedAt) - Date.parse(receivedAt)) / 1000))}`,
          ],
          [
            "Client",
            <Link key="client" to={`/clients/${answer.clientId}`}>
              {answer.clientName ?? answer.clientId}
            </Link>,
          ],
          ["Resource", answer.resource],
          ["Handling", answer.handling],
          ["Outcome", <RequestOutcome key="outcome" request={answer} />],
          ["Correlation id", answer.correlationId ?? "none"],
          ["Reply to", answer.replyTo ?? "nowhere"],
        ]}
      />
      <Section title="Request id">
        <Copyable text={answer.requestId} what="request id" />
      </Section>
      <Section title="Records" aside={<CountsLine counts={answer.counts} />}>
        <RecordFilters />
        <Answered asked={asked} lines={10}>
          {({ requestId, records, counts, nextCursor }) => (
            <>
              {records.length === 0 ? (
                <NoRecords counts={counts} />
              ) : (
                <RecordTable requestId={requestId} records={records} />
              )}
              <Pager nextCursor={nextCursor} shown={`${writeMany(records.length, "record")} shown`} />
            </>
          )}
        </Answered>
      </Section>
    </>
  );
}

function CountsLine({ counts }: { readonly counts: RequestCounts }) {
  const parts = (["pending", ...OUTCOMES] as const)
    .filter((outcome) => counts[outcome] > 0)
    .map((outcome) => `${writeCount(counts[outcome])} ${outcome}`);
  return <p>{[writeMany(counts.records, "record"), ...parts].join(" · ")}</p>;
}

function RecordFilters() {
  const { filters, change } = useFilters();
  const outcome = filters.get("outcome") ?? "";
  return (
    <search className="filters">
      <Choice
        label="Show"
        value={outcome !== "" || filters.get("records") === "all" ? "all" : "notable"}
        options={[
          ["notable", "Notable"],
          ["all", "All"],
        ]}
        onChange={(records) => change({ records: records === "all" ? "all" : undefined, outcome: undefined })}
      />
      <SelectField
        label="Outcome"
        value={outcome}
        options={[["", "Any"], ...OUTCOMES.map((each) => [each, each] as const)]}
        onChange={(next) => change({ outcome: next, records: next === "" ? undefined : "all" })}
      />
    </search>
  );
}

function NoRecords({ counts }: { readonly counts: RequestCounts }) {
  const { filters } = useFilters();
  if (filters.size > 0) return <Empty title="No record of this batch has that outcome" />;
  return (
    <Empty
      title={`${counts.records === 1 ? "The record was" : `All ${writeCount(counts.records)} records were`} plainly applied`}
    >
      Nothing to look at: no warning, nothing held, nothing refused. “All” lists them.
    </Empty>
  );
}

interface RecordTableProps {
  readonly requestId: string;
  readonly records: readonly RecordItem[];
}

function RecordTable({ requestId, records }: RecordTableProps) {
  const columns: readonly Column<RecordItem>[] = [
    {
      head: "Record",
      lead: true,
      cell: ({ index, key }) => (
        <Link to={`/requests/${requestId}/${index}`}>
          <Word>{key ?? `record ${index}`}</Word>
        </Link>
      ),
    },
    { head: "Place", end: true, cell: ({ index }) => index },
    {
      head: "Property",
      cell: ({ clientCode, propertyCode }) => (
        <PropertyLink clientCode={clientCode} propertyCode={propertyCode} />
      ),
    },
    { head: "Outcome", cell: (record) => <RecordOutcome record={record} /> },
    { head: "Why", prose: true, cell: whyOf },
  ];
  return (
    <Table
      caption="Records of this request"
      columns={columns}
      rows={records}
      keyOf={({ index }) => String(index)}
    />
  );
}

function RecordOutcome({ record }: { readonly record: RecordItem }) {
  return (
    <span className="badges">
      <OutcomeBadge outcome={record.outcome} />
      {record.warnings.length > 0 ? (
        <Badge tone="warn">{writeMany(record.warnings.length, "warning")}</Badge>
      ) : null}
    </span>
  );
}

/** Null where there is nothing to tell: a phone then leaves the line out. */
function whyOf(record: RecordItem): ReactNode {
  const told = record.violations ?? record.warnings;
  const why = record.message ?? told[0]?.message;
  if (why === undefined) return null;
  return (
    <>
      {why}
      {told.length > 1 ? <span className="muted"> and {told.length - 1} more</span> : null}
    </>
  );
}

function toRows(records: readonly RecordItem[]): (string | number | null)[][] {
  return [
    ["index", "clientCode", "propertyCode", "key", "outcome", "code", "pointer", "message", "warnings"],
    ...records.map((record) => [
      record.index,
      record.clientCode,
      record.propertyCode,
      record.key,
      record.outcome,
      record.code,
      record.pointer,
      record.message,
      record.warnings.map(({ pointer, code }) => `${pointer} ${code}`).join("; "),
    ]),
  ];
}
