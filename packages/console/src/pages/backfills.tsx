import { Link } from "wouter";
import type {
  BackfillAnswer,
  BackfillGap,
  BackfillListItem,
  BackfillResource,
  BackfillSignature,
  PageOf,
} from "../contract.ts";
import { post, useAnswer, useMay } from "../data/queries.ts";
import { addDays, daysBetween, writeCount, writeDate, writeDayOfYear, writeMany } from "../field/format.ts";
import { FormDialogButton, ReasonField, typed } from "../parts/dialog.tsx";
import { AddressSelect } from "../parts/field.tsx";
import { type Column, ExportButtons, figure, List, ListPage, Table, useList } from "../parts/list.tsx";
import { DetailPage, Empty, Facts, Notice, Section } from "../parts/page.tsx";
import { Badge, ClientLink, Copyable, Instant, ShareBar, Who, Word } from "../parts/values.tsx";
import { useFilters } from "../routing/filters.ts";
import { ClientFilter } from "./clients.tsx";

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
  {
    head: "Client",
    cell: ({ clientId, clientName }) => <ClientLink clientId={clientId} name={clientName} />,
  },
  { head: "State", cell: ({ state }) => <Badge tone={state === "open" ? "accent" : "plain"}>{state}</Badge> },
  { head: "Opened", cell: ({ openedAt }) => <Instant at={openedAt} /> },
  { head: "Ended", cell: ({ endedAt }) => (endedAt === null ? null : <Instant at={endedAt} />) },
  { head: "Signed by", cell: ({ signatures }) => signatures.map(({ side }) => side).join(" and ") },
  { head: "Note", prose: true, cell: ({ note }) => note ?? "" },
];

export function BackfillsPage() {
  const { state = "", clientId = "" } = Object.fromEntries(useFilters().filters);
  const seesClients = useMay()("read-clients");
  return (
    <ListPage
      title="Backfills"
      lead="The first load of a hotel: what the partner announced, what arrived, and who signed it."
      asked={useList<PageOf<BackfillListItem>>("backfills", { state, clientId })}
      filters={
        <>
          <AddressSelect
            name="state"
            label="State"
            options={{ "": "Any", open: "open", closed: "closed", abandoned: "abandoned" }}
          />
          {seesClients && <ClientFilter />}
        </>
      }
      caption="Backfills, newest first"
      columns={COLUMNS}
      keyOf={({ backfillId }) => backfillId}
      noun={["backfill"]}
      empty={
        <Empty title={state + clientId === "" ? "No backfills yet" : "No backfill matches these filters"}>
          A partner opens one before it sends a hotel's history and reservations.
        </Empty>
      }
      csv="backfillId clientId clientName clientCode propertyCode state openedAt endedAt statementHash partnerSignedBy partnerSignedAt operatorSignedBy operatorSignedAt note"
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

const RENEWED_MS = 3_000;

const RESOURCE_COLUMNS: readonly Column<BackfillResource>[] = [
  { head: "Resource", lead: true, cell: ({ resource }) => resource },
  { head: "Dates", cell: ({ from, to }) => <Word>{`${writeDayOfYear(from)} – ${writeDayOfYear(to)}`}</Word> },
  {
    head: "Different records",
    end: true,
    cell: ({ distinctRecords, expectedRecords }) => <Reached count={distinctRecords} of={expectedRecords} />,
  },
  {
    head: "Dates covered",
    end: true,
    cell: ({ datesCovered, datesNamed }) =>
      datesCovered !== null && <Reached count={datesCovered} of={datesNamed} />,
  },
  figure("Batches", ({ batches }) => batches, writeCount),
  figure("Records", ({ counts }) => counts.records, writeCount),
  figure("Duplicate", ({ counts }) => counts.duplicate, writeCount),
  figure("Failed", ({ counts }) => counts.rejected + counts.quarantined + counts.discarded, writeCount),
  figure("Being applied", ({ counts }) => counts.pending, writeCount),
];

/** The received share of the declared number, which may be absent. */
function Reached({ count, of }: { count: number; of: number | null }) {
  if (of === null || of === 0) return writeCount(count);
  return (
    <>
      {writeCount(count)} of {writeCount(of)} <ShareBar of={count / of} />
    </>
  );
}

export function BackfillPage({ params }: { params: { backfillId: string } }) {
  const { backfillId } = params;
  const asked = useAnswer<BackfillAnswer>(`backfills/${backfillId}`, {
    againMs: (backfill) => (backfill?.state === "open" ? RENEWED_MS : undefined),
  });
  const { clientCode, propertyCode } = asked.data ?? {};
  return (
    <DetailPage
      title={asked.data === undefined ? "Backfill" : `${clientCode} / ${propertyCode}`}
      crumbs={[{ to: "/backfills", text: "Backfills" }]}
      asked={asked}
      actions={(backfill) => <BackfillAction backfill={backfill} />}
    >
      {(backfill) => <BackfillDetails backfill={backfill} />}
    </DetailPage>
  );
}

function BackfillAction({ backfill }: { backfill: BackfillAnswer }) {
  const { backfillId, state, reproduced, signatures, statementHash } = backfill;
  const send = (deed: string, body: object) => post<BackfillAnswer>(`backfills/${backfillId}/${deed}`, body);
  if (!useMay()("sign-backfills")) return null;
  if (state === "open")
    return (
      // The keys keep an open form from becoming the other one.
      <FormDialogButton
        key="abandon"
        opener="Abandon…"
        title="Abandon this backfill?"
        text="It accepts no more batches and gets no statement. Its records stay. This cannot be undone."
        button="Abandon"
        danger
        done="The backfill is abandoned."
        onSubmit={(form) => send("abandon", { why: typed(form, "reason") })}
      >
        <ReasonField required />
      </FormDialogButton>
    );
  const isSigned = signatures.some(({ side }) => side === "operator");
  if (state !== "closed" || reproduced !== true || isSigned) return null;
  return (
    <FormDialogButton
      key="sign"
      opener="Sign…"
      openerKind="main"
      title="Sign this statement?"
      text="You confirm its counts and its list of missing records. This cannot be undone."
      button="Sign"
      done="Both sides have signed the statement."
      onSubmit={() => send("sign", { hash: statementHash })}
    >
      <code className="small break">{statementHash}</code>
    </FormDialogButton>
  );
}

function BackfillDetails({ backfill }: { backfill: BackfillAnswer }) {
  const { state, statementHash, signatures, reproduced, lateBatches, abandonedBy } = backfill;
  const signed = (by: BackfillSignature["side"]) => {
    const signature = signatures.find(({ side }) => side === by);
    return (
      signature && (
        <>
          <Who who={signature.signedBy} clientName={backfill.clientName} />,{" "}
          <Instant at={signature.signedAt} />
        </>
      )
    );
  };
  return (
    <>
      {reproduced === false && (
        <Notice tone="bad" title="The log no longer gives the signed statement">
          You cannot sign it: the statement or the log was changed.
        </Notice>
      )}
      {reproduced === null && statementHash !== null && (
        <Notice tone="warn" title="The statement cannot be recomputed any more">
          You cannot sign it: data that it counts may be past its retention term.
        </Notice>
      )}
      <Facts
        facts={{
          State: <Badge tone={state === "open" ? "accent" : "plain"}>{state}</Badge>,
          Opened: <Instant at={backfill.openedAt} />,
          Ended: backfill.endedAt && <Instant at={backfill.endedAt} />,
          Client: <ClientLink clientId={backfill.clientId} name={backfill.clientName} />,
          Note: backfill.note,
          Backlog: writeMany(backfill.waitingBatches, "batch", "batches"),
          "Received too late": lateBatches > 0 && writeMany(lateBatches, "batch", "batches"),
          Abandoned: abandonedBy && (
            <>
              <Who who={abandonedBy} clientName={backfill.clientName} />:{" "}
              {backfill.abandonedWhy ?? "no reason given"}
            </>
          ),
          "Statement (SHA-256)": statementHash && <Copyable text={statementHash} what="statement’s hash" />,
          "Signed by the partner": signed("partner"),
          "Signed by the operator": signed("operator"),
        }}
      />
      <Section title={state === "closed" ? "Counts of the statement" : "Received so far"}>
        <Table
          caption="Received records, by resource"
          columns={RESOURCE_COLUMNS}
          rows={backfill.resources}
          keyOf={({ resource }) => resource}
        />
      </Section>
      <BackfillGaps backfillId={backfill.backfillId} isOpen={state === "open"} />
    </>
  );
}

const GAPS_RENEWED_MS = 10_000;
/** More than a year of dates; consecutive missing dates share a row. */
const GAPS_SHOWN = 500;

/** A gap; `to` is the last of consecutive missing dates. */
type Gap = BackfillGap & { readonly to?: string };

function joined(gaps: readonly BackfillGap[]): readonly Gap[] {
  const rows: Gap[] = [];
  for (const gap of gaps) {
    const before = rows.at(-1);
    const isNext =
      gap.kind === "date-missing" &&
      before?.kind === "date-missing" &&
      before.resource === gap.resource &&
      addDays(before.to ?? before.date, 1) === gap.date;
    if (isNext) rows[rows.length - 1] = { ...before, to: gap.date };
    else rows.push(gap);
  }
  return rows;
}

const GAP_COLUMNS: readonly Column<Gap>[] = [
  { head: "What", lead: true, cell: (gap) => whatOf(gap) },
  { head: "Resource", cell: ({ resource }) => resource },
  { head: "Record", cell: (gap) => (gap.kind === "record-failed" ? <FailedLink gap={gap} /> : "") },
  {
    head: "Why",
    prose: true,
    cell: (gap) => (gap.kind === "record-failed" ? (gap.message ?? gap.code ?? "") : ""),
  },
];

function whatOf(gap: Gap): string {
  if (gap.kind === "records-short")
    return `${writeCount(gap.missing)} of ${writeCount(gap.expected)} expected records`;
  if (gap.kind === "date-missing")
    return gap.to === undefined
      ? writeDate(gap.date)
      : `${writeDate(gap.date)} – ${writeDate(gap.to)}, ${writeMany(daysBetween(gap.date, gap.to) + 1, "date")}`;
  return gap.mended ? `${gap.outcome}, fixed since` : gap.outcome;
}

function FailedLink({ gap }: { gap: Extract<BackfillGap, { kind: "record-failed" }> }) {
  return <Link to={`/requests/${gap.requestId}/${gap.index}`}>{gap.key ?? `record ${gap.index}`}</Link>;
}

function keyOf(gap: BackfillGap): string {
  if (gap.kind === "records-short") return gap.resource;
  return gap.kind === "date-missing" ? gap.date : `${gap.requestId}/${gap.index}`;
}

function BackfillGaps({ backfillId, isOpen }: { backfillId: string; isOpen: boolean }) {
  const asked = useList<PageOf<BackfillGap>>(
    `backfills/${backfillId}/gaps`,
    {},
    { limit: GAPS_SHOWN, againMs: () => (isOpen ? GAPS_RENEWED_MS : undefined) },
  );
  const { data } = asked;
  const hasFailed = data?.items.some(({ kind }) => kind === "record-failed") === true;
  return (
    <Section
      title="Missing"
      aside={
        <ExportButtons<BackfillGap>
          name="gaps"
          of={asked.whole}
          csv="resource gap what key"
          csvRow={(gap) => ({ resource: gap.resource, gap: gap.kind, what: whatOf(gap), key: keyOf(gap) })}
        />
      }
    >
      <List
        asked={{ ...asked, data: data && { ...data, items: joined(data.items) } }}
        caption="Missing dates and records of this backfill"
        columns={hasFailed ? GAP_COLUMNS : GAP_COLUMNS.slice(0, 2)}
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
