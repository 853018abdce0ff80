import { useState } from "react";
import { Link } from "wouter";
import type { BackfillAnswer, BackfillResource, BackfillSignature } from "../contract.ts";
import { useAnswer } from "../data/queries.ts";
import { writeCount, writeMany } from "../field/format.ts";
import { Button } from "../parts/button.tsx";
import { Facts, Page, Section } from "../parts/page.tsx";
import { Answered, Notice } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Badge, Copyable, Instant, orDash } from "../parts/values.tsx";
import { type BackfillDeed, BackfillDialog } from "./backfill/backfill-dialog.tsx";
import { BackfillGaps } from "./backfill/backfill-gaps.tsx";

const RENEWED_MS = 3_000;

const COLUMNS: readonly Column<BackfillResource>[] = [
  { head: "Resource", lead: true, cell: ({ resource }) => resource },
  { head: "Dates", cell: ({ from, to }) => <span className="nowrap">{`${from} – ${to}`}</span> },
  { head: "Expected", end: true, cell: ({ expectedRecords }) => orDash(expectedRecords, writeCount) },
  { head: "Distinct", end: true, cell: ({ distinctRecords }) => writeCount(distinctRecords) },
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
  const signed = (by: BackfillSignature["side"]) => {
    const signature = signatures.find(({ side }) => side === by);
    return signature && <Signed by={signature} />;
  };
  return (
    <>
      {reproduced === false ? (
        <Notice tone="bad" title="The log no longer gives the signed statement">
          You cannot sign it: the statement or the log was changed.
        </Notice>
      ) : null}
      <Facts
        facts={{
          State: <Badge tone={state === "open" ? "accent" : "plain"}>{state}</Badge>,
          Opened: <Instant at={told.openedAt} />,
          Ended: told.endedAt && <Instant at={told.endedAt} />,
          Client: <Link to={`/clients/${told.clientId}`}>{told.clientId}</Link>,
          Note: told.note,
          "Waiting to be applied": writeMany(told.waitingBatches, "batch", "batches"),
          "Came too late": lateBatches > 0 && writeMany(lateBatches, "batch", "batches"),
          Abandoned: told.abandonedBy && `${told.abandonedBy}: ${told.abandonedWhy ?? "no reason given"}`,
          "Statement (SHA-256)": statementHash && <Copyable text={statementHash} what="statement’s hash" />,
          "Signed by the partner": signed("partner"),
          "Signed by the operator": signed("operator"),
        }}
      />
      <Section title={state === "closed" ? "Counts of the statement" : "Received so far"}>
        <Table
          caption="Received records, by resource"
          columns={COLUMNS}
          rows={told.resources}
          keyOf={({ resource }) => resource}
        />
      </Section>
      <BackfillGaps backfillId={told.backfillId} isOpen={state === "open"} />
    </>
  );
}

function Signed({ by: { signedBy, signedAt } }: { readonly by: BackfillSignature }) {
  return (
    <>
      {signedBy}, <Instant at={signedAt} />
    </>
  );
}
