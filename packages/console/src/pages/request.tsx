import type { ReactNode } from "react";
import { Link } from "wouter";
import type { RecordAnswer, RecordItem, RecordNotice, RequestAnswer, RequestCounts } from "../contract.ts";
import { type Asked, useAnswer } from "../data/queries.ts";
import { historyPath, shortId, writeCount, writeMany } from "../field/format.ts";
import { LinkButton } from "../parts/button.tsx";
import { Choice, SelectField } from "../parts/field.tsx";
import { type Column, ExportButtons, List, Table, useList } from "../parts/list.tsx";
import { DetailPage, Empty, Facts, Section } from "../parts/page.tsx";
import { RecordFields } from "../parts/record-fields.tsx";
import {
  Badge,
  ClientLink,
  Copyable,
  Disclosure,
  Instant,
  OutcomeBadge,
  PayloadView,
  PropertyLink,
  Word,
} from "../parts/values.tsx";
import { useFilters } from "../routing/filters.ts";
import { appliedAfter, OUTCOME_NAMES, RequestOutcome } from "./requests.tsx";

const RENEWED_MS = 1000;

export function RequestPage({ params }: { params: { requestId: string } }) {
  const { requestId } = params;
  const { filters } = useFilters();
  const { records, outcome } = Object.fromEntries(filters);
  const asked = useList<RequestAnswer>(
    `requests/${requestId}`,
    { records, outcome },
    // Polls only until the request is applied: polling keeps a session alive.
    { limit: 100, againMs: (answer) => (answer?.status === "accepted" ? RENEWED_MS : undefined) },
  );
  return (
    <DetailPage
      title={`Request ${shortId(requestId)}`}
      crumbs={[{ to: "/requests", text: "Requests" }]}
      asked={asked}
      actions={() => (
        <ExportButtons<RecordItem>
          name={`request-${requestId}`}
          of={asked.whole}
          member="records"
          csv="index clientCode propertyCode key outcome code pointer message warnings"
          csvRow={({ warnings, ...record }) => ({
            ...record,
            warnings: warnings.map(({ pointer, code }) => `${pointer} ${code}`).join("; "),
          })}
        />
      )}
    >
      {(answer) => <Request answer={answer} asked={asked} />}
    </DetailPage>
  );
}

function Request({ answer, asked }: { answer: RequestAnswer; asked: Asked<RequestAnswer> }) {
  return (
    <>
      <Facts
        facts={{
          Received: <Instant at={answer.receivedAt} />,
          Applied: answer.appliedAt === null ? "not yet" : `after ${appliedAfter(answer)}`,
          Client: <ClientLink clientId={answer.clientId} name={answer.clientName} />,
          Resource: answer.resource,
          Handling: answer.handling,
          Outcome: <RequestOutcome request={answer} />,
          "Correlation id": answer.correlationId ?? "–",
          "Reply to": answer.replyTo ?? "–",
        }}
      />
      <Section title="Request id">
        <Copyable text={answer.requestId} what="request id" />
      </Section>
      <Section title="Records" aside={<CountsLine counts={answer.counts} />}>
        <RecordFilters />
        <List
          asked={{ ...asked, error: null, data: { ...answer, items: answer.records } }}
          caption="Records of this request"
          columns={columnsOf(answer.requestId)}
          keyOf={({ index }) => String(index)}
          noun={["record"]}
          empty={<NoRecords counts={answer.counts} />}
          lines={10}
        />
      </Section>
    </>
  );
}

function CountsLine({ counts }: { counts: RequestCounts }) {
  const parts = (["pending", ...OUTCOME_NAMES] as const)
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
        options={{ notable: "Notable", all: "All" }}
        onChange={(records) => change({ records: records === "all" ? "all" : undefined, outcome: undefined })}
      />
      <SelectField
        label="Outcome"
        value={outcome}
        options={[["", "Any"], ...OUTCOME_NAMES]}
        onChange={(next) => change({ outcome: next, records: next === "" ? undefined : "all" })}
      />
    </search>
  );
}

function NoRecords({ counts }: { counts: RequestCounts }) {
  const { filters } = useFilters();
  if (filters.size > 0) return <Empty title="No record of this batch has that outcome" />;
  return (
    <Empty
      title={`${counts.records === 1 ? "The record was" : `All ${writeCount(counts.records)} records were`} applied without a notice`}
    >
      No warnings, nothing quarantined, nothing rejected. “All” lists them.
    </Empty>
  );
}

function columnsOf(requestId: string): readonly Column<RecordItem>[] {
  return [
    {
      head: "Record",
      lead: true,
      cell: ({ index, key }) => (
        <Link to={`/requests/${requestId}/${index}`}>
          <Word>{key ?? `record ${index}`}</Word>
        </Link>
      ),
    },
    { head: "Index", end: true, cell: ({ index }) => index },
    { head: "Property", cell: (record) => <PropertyLink of={record} /> },
    { head: "Outcome", cell: (record) => <RecordOutcome record={record} /> },
    { head: "Why", prose: true, cell: whyOf },
  ];
}

function RecordOutcome({ record }: { record: RecordItem }) {
  return (
    <span className="badges">
      <OutcomeBadge outcome={record.outcome} />
      {record.warnings.length > 0 && (
        <Badge tone="warn">{writeMany(record.warnings.length, "warning")}</Badge>
      )}
    </span>
  );
}

/** Null hides the line on a phone. */
function whyOf(record: RecordItem): ReactNode {
  const notices = record.violations ?? record.warnings;
  const why = record.message ?? notices[0]?.message;
  if (why === undefined) return null;
  return (
    <>
      {why}
      {notices.length > 1 && <span className="muted"> and {notices.length - 1} more</span>}
    </>
  );
}

export function RecordPage({ params }: { params: { requestId: string; index: string } }) {
  const { requestId, index } = params;
  const asked = useAnswer<RecordAnswer>(`requests/${requestId}/records/${index}`);
  return (
    <DetailPage
      title={asked.data?.record.key ?? `Record ${index}`}
      lead={`Record ${index} of its batch, counted from 0.`}
      crumbs={[
        { to: "/requests", text: "Requests" },
        { to: `/requests/${requestId}`, text: `Request ${shortId(requestId)}` },
      ]}
      asked={asked}
      actions={(answer) => <RecordActions answer={answer} />}
    >
      {(answer) => <OneRecord answer={answer} />}
    </DetailPage>
  );
}

function RecordActions({ answer }: { answer: RecordAnswer }) {
  const { record, requestId, resource } = answer;
  const { clientCode, propertyCode, key } = record;
  return (
    <>
      {record.outcome === "quarantined" && (
        <LinkButton kind="main" to={`/quarantine/${requestId}/${record.index}`}>
          Release or discard
        </LinkButton>
      )}
      {clientCode !== null && propertyCode !== null && key !== null && record.outcome !== "rejected" && (
        <LinkButton to={historyPath({ clientCode, propertyCode }, resource, key)}>
          History of {key}
        </LinkButton>
      )}
    </>
  );
}

function OneRecord({ answer }: { answer: RecordAnswer }) {
  const { record, payload, fields } = answer;
  const notices = noticesOf(record);
  // `/3/status` of record 3 is `/status`.
  const beginning = `/${record.index}`;
  const marked = notices.flatMap(({ pointer }) =>
    pointer.startsWith(`${beginning}/`) ? pointer.slice(beginning.length) : [],
  );
  return (
    <>
      <Facts
        wide="Why"
        facts={{
          Outcome: <OutcomeBadge outcome={record.outcome} />,
          Received: <Instant at={answer.receivedAt} />,
          Property: <PropertyLink of={record} />,
          Resource: answer.resource,
          Decided: record.resolvedAt && <Instant at={record.resolvedAt} />,
          // The notices below include it.
          Why: notices.length > 0 ? null : record.message,
        }}
      />
      {notices.length !== 0 && (
        <Section title="Violations and warnings">
          <Table
            caption="Violations and warnings of this record"
            rows={notices}
            keyOf={({ pointer, code }) => `${pointer} ${code}`}
            columns={[
              {
                head: "Pointer",
                lead: true,
                cell: ({ pointer }) => <code className="break">{pointer}</code>,
              },
              { head: "Message", prose: true, cell: ({ message }) => message },
              { head: "Code", cell: ({ code }) => <code className="small">{code}</code> },
            ]}
          />
        </Section>
      )}
      {fields.length !== 0 && (
        <Section title="Fields">
          <Disclosure summary={`${writeMany(fields.length, "field")} that Bellhop reads`}>
            <RecordFields fields={fields} />
          </Disclosure>
        </Section>
      )}
      <Section title="Payload">
        <PayloadView payload={payload} marked={marked} />
      </Section>
    </>
  );
}

function noticesOf({
  violations = [],
  warnings,
  code,
  pointer,
  message,
}: RecordItem): readonly RecordNotice[] {
  const own = code === null || message === null || violations.length > 0 ? [] : [{ code, pointer, message }];
  return [...violations, ...own, ...warnings];
}
