import { useState } from "react";
import { Link } from "wouter";
import type { BackfillAnswer, BackfillResource } from "../contract.ts";
import { useAnswer } from "../data/queries.ts";
import { writeCount, writeMany } from "../field/amounts.ts";
import { Badge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Copyable } from "../parts/copyable.tsx";
import { Facts } from "../parts/figures.tsx";
import { Instant } from "../parts/instant.tsx";
import { Page, Section } from "../parts/page.tsx";
import { Answered, Notice } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { type BackfillDeed, BackfillDialog } from "./backfill/backfill-dialog.tsx";
import { BackfillGaps } from "./backfill/backfill-gaps.tsx";

const RENEWED_MS = 3_000;

const COLUMNS: readonly Column<BackfillResource>[] = [
  { head: "Resource", lead: true, cell: ({ resource }) => resource },
  { head: "Dates", cell: ({ from, to }) => <span className="nowrap">{`${from} – ${to}`}</span> },
  { head: "Expected", end: true, cell: ({ expectedRecords }) => orNothing(expectedRecords) },
  { head: "Different", end: true, cell: ({ distinctRecords }) => writeCount(distinctRecords) },
  {
    head: "Dates covered",
    end: true,
    cell: ({ datesCovered, datesNamed }) =>
      datesNamed === null || datesCovered === null
        ? ""
        : `${writeCount(datesCovered)} of ${writeCount(datesNamed)}`,
  },
  { head: "Batches", end: true, cell: ({ batches }) => writeCount(batches) },
  { head: "Records", end: true, cell: ({ counts }) => writeCount(counts.records) },
  { head: "Duplicate", end: true, cell: ({ counts }) => writeCount(counts.duplicate) },
  {
    head: "Failed",
    end: true,
    cell: ({ counts }) => writeCount(counts.rejected + counts.quarantined + counts.discarded),
  },
  { head: "Being applied", end: true, cell: ({ counts }) => writeCount(counts.pending) },
];

function orNothing(value: number | null): string {
  return value === null ? "" : writeCount(value);
}

/** One backfill: how far it has come, what is missing, and the signatures. */
export function BackfillPage({ params }: { readonly params: { readonly backfillId: string } }) {
  const { backfillId } = params;
  const [deed, setDeed] = useState<BackfillDeed>();
  const asked = useAnswer<BackfillAnswer>(`backfills/${backfillId}`, {
    againMs: (backfill) => (backfill?.state === "open" ? RENEWED_MS : undefined),
  });
  const answer = asked.data;
  return (
    <Page
      title={answer === undefined ? "Backfill" : `${answer.clientCode} / ${answer.propertyCode}`}
      crumbs={[{ to: "/backfills", text: "Backfills" }]}
      actions={answer === undefined ? undefined : <Actions answer={answer} onChoose={setDeed} />}
    >
      <Answered asked={asked} lines={10}>
        {(told) => <Told told={told} />}
      </Answered>
      {deed === undefined || answer === undefined ? null : (
        <BackfillDialog
          deed={deed}
          backfillId={backfillId}
          hash={answer.statementHash ?? ""}
          onClose={() => setDeed(undefined)}
          onDone={() => {
            setDeed(undefined);
            asked.refetch();
          }}
        />
      )}
    </Page>
  );
}

function Actions({
  answer,
  onChoose,
}: {
  readonly answer: BackfillAnswer;
  readonly onChoose: (deed: BackfillDeed) => void;
}) {
  if (answer.state === "open")
    return (
      <Button kind="danger" onClick={() => onChoose("abandon")}>
        Abandon …
      </Button>
    );
  const isToBeSigned =
    answer.state === "closed" &&
    answer.reproduced === true &&
    !answer.signatures.some(({ side }) => side === "operator");
  return isToBeSigned ? (
    <Button kind="main" onClick={() => onChoose("sign")}>
      Sign …
    </Button>
  ) : null;
}

function Told({ told }: { readonly told: BackfillAnswer }) {
  const { state, statementHash, signatures, reproduced, lateBatches } = told;
  return (
    <>
      {reproduced === false ? (
        <Notice tone="bad" title="The log gives another statement than the one that was signed">
          It cannot be signed. Somebody has changed the statement, or the log.
        </Notice>
      ) : null}
      <Facts
        facts={[
          [
            "State",
            <Badge key="state" tone={state === "open" ? "accent" : "plain"}>
              {state}
            </Badge>,
          ],
          ["Opened", <Instant key="opened" at={told.openedAt} />],
          ...(told.endedAt === null ? [] : ([["Ended", <Instant key="ended" at={told.endedAt} />]] as const)),
          [
            "Client",
            <Link key="client" to={`/clients/${told.clientId}`}>
              {told.clientId}
            </Link>,
          ],
          ...(told.note === null ? [] : ([["Note", told.note]] as const)),
          [
            "Waits to be applied",
            told.waitingBatches === 0 ? "nothing" : writeMany(told.waitingBatches, "batch", "batches"),
          ],
          ...(lateBatches === 0
            ? []
            : ([["Came too late", writeMany(lateBatches, "batch", "batches")]] as const)),
          ...(told.abandonedBy === null
            ? []
            : ([["Abandoned", `${told.abandonedBy}: ${told.abandonedWhy ?? "no reason given"}`]] as const)),
          ...(statementHash === null
            ? []
            : ([
                ["Statement (SHA-256)", <Copyable key="hash" text={statementHash} what="statement’s hash" />],
              ] as const)),
          ...signatures.map(
            ({ side, signedBy, signedAt }) =>
              [
                `Signed by the ${side}`,
                <span key={side}>
                  {signedBy}, <Instant at={signedAt} />
                </span>,
              ] as const,
          ),
        ]}
      />
      <Section title={state === "closed" ? "What the statement counts" : "What has come"}>
        <Table
          caption="What has come, by resource"
          columns={COLUMNS}
          rows={told.resources}
          keyOf={({ resource }) => resource}
        />
      </Section>
      <BackfillGaps backfillId={told.backfillId} isOpen={state === "open"} />
    </>
  );
}
