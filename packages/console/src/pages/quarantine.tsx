import { useState } from "react";
import { Link } from "wouter";
import type { PageOf, QuarantineAnswer, QuarantineItem, ResolveAnswer } from "../contract.ts";
import { post, useAnswer, useMay } from "../data/queries.ts";
import { DialogButton, FormDialog, ReasonField, typed } from "../parts/dialog.tsx";
import { AddressFilter } from "../parts/field.tsx";
import { type Column, ListPage, useList } from "../parts/list.tsx";
import { DetailPage, Empty, Facts, Notice, Section } from "../parts/page.tsx";
import { Badge, Instant, PayloadView, PropertyLink, RequestLink, Word } from "../parts/values.tsx";
import { useFilters } from "../routing/filters.ts";

const COLUMNS: readonly Column<QuarantineItem>[] = [
  {
    head: "Record",
    lead: true,
    cell: ({ requestId, index, key }) => (
      <Link to={`/quarantine/${requestId}/${index}`}>
        <Word>{key}</Word>
      </Link>
    ),
  },
  { head: "Resource", cell: ({ resource }) => resource },
  { head: "Property", cell: (record) => <PropertyLink of={record} /> },
  { head: "Received", cell: ({ receivedAt }) => <Instant at={receivedAt} /> },
  { head: "Why", prose: true, cell: ({ message }) => message },
];

export function QuarantinePage() {
  const { filters } = useFilters();
  const { clientCode = "", propertyCode = "" } = Object.fromEntries(filters);
  return (
    <ListPage
      title="Quarantine"
      lead="Accepted records that wait for a decision. A release applies the record verbatim."
      asked={useList<PageOf<QuarantineItem>>("quarantine", {
        clientCode,
        propertyCode: clientCode === "" ? "" : propertyCode,
      })}
      filters={
        <>
          <AddressFilter name="clientCode" label="Client code" first />
          <AddressFilter
            name="propertyCode"
            label="Property code"
            placeholder={clientCode === "" ? "with a client code" : ""}
          />
        </>
      }
      caption="Records in quarantine, oldest first"
      columns={COLUMNS}
      keyOf={({ requestId, index }) => `${requestId}/${index}`}
      noun={["record"]}
      empty={
        filters.size > 0 ? (
          <Empty title="No record of these codes is quarantined">Clear the filters to see all.</Empty>
        ) : (
          <Empty title="No record is quarantined">
            Records are quarantined when their source time is in the future or the database cannot store a
            value.
          </Empty>
        )
      }
      csv="requestId index clientCode propertyCode resource key code message receivedAt"
    />
  );
}

type Decision = "release" | "discard";
const RENEWED_MS = 500;

export function QuarantinedRecordPage({ params }: { params: { requestId: string; index: string } }) {
  const { requestId, index } = params;
  // A decision takes effect within moments.
  const [decided, setDecided] = useState(false);
  const may = useMay();
  const path = `quarantine/${requestId}/${index}`;
  const asked = useAnswer<QuarantineAnswer>(path, {
    againMs: (answer) => (decided && answer?.state === "quarantined" ? RENEWED_MS : undefined),
  });
  const button = (decision: Decision, text: string) => (
    <DialogButton text={text} kind={decision === "release" ? "main" : "danger"}>
      {(close) => (
        <DecisionDialog decision={decision} path={path} onClose={close} onDone={() => setDecided(true)} />
      )}
    </DialogButton>
  );
  return (
    <DetailPage
      title={asked.data?.key ?? `Record ${index}`}
      crumbs={[{ to: "/quarantine", text: "Quarantine" }]}
      asked={asked}
      actions={({ state }) =>
        state === "quarantined" &&
        !decided &&
        may("resolve-quarantine") && (
          <>
            {button("release", "Release …")}
            {button("discard", "Discard …")}
          </>
        )
      }
    >
      {(answer) => <QuarantinedRecord answer={answer} />}
    </DetailPage>
  );
}

function QuarantinedRecord({ answer }: { answer: QuarantineAnswer }) {
  return (
    <>
      {answer.state === "quarantined" ? (
        <Notice tone="warn" title={answer.message}>
          <code className="small">{answer.code}</code>
        </Notice>
      ) : (
        <Notice
          title={
            answer.state === "released"
              ? "Released: applied verbatim"
              : "Discarded: kept in the log, never applied"
          }
        >
          It was quarantined: {answer.message}
        </Notice>
      )}
      <Facts
        facts={{
          State: <Badge tone={answer.state === "quarantined" ? "warn" : "plain"}>{answer.state}</Badge>,
          Received: <Instant at={answer.receivedAt} />,
          Decided: answer.resolvedAt && <Instant at={answer.resolvedAt} />,
          Resource: answer.resource,
          Property: <PropertyLink of={answer} />,
          Request: <RequestLink requestId={answer.requestId} />,
          "Place in the batch": answer.index,
        }}
      />
      <Section title="Payload">
        <PayloadView payload={answer.payload} />
      </Section>
    </>
  );
}

const WORDS: Readonly<Record<Decision, { title: string; text: string; button: string; done: string }>> = {
  release: {
    title: "Release this record?",
    text: "It is applied verbatim, at its source time in the history. This cannot be undone.",
    button: "Release",
    done: "The record is released.",
  },
  discard: {
    title: "Discard this record?",
    text: "It is never applied. The log keeps it, and its request shows it as discarded. This cannot be undone.",
    button: "Discard",
    done: "The record is discarded.",
  },
};

interface DecisionDialogProps {
  readonly decision: Decision;
  readonly path: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function DecisionDialog({ decision, path, onClose, onDone }: DecisionDialogProps) {
  const isDiscard = decision === "discard";
  const submit = async (form: FormData) => {
    await post<ResolveAnswer>(`${path}/${decision}`, { reason: typed(form, "reason") || undefined });
    onDone();
  };
  return (
    <FormDialog {...WORDS[decision]} danger={isDiscard} onSubmit={submit} onClose={onClose}>
      <ReasonField required={isDiscard} />
    </FormDialog>
  );
}
