import { Link, useLocation } from "wouter";
import {
  type CertificationAnswer,
  type CertificationItem,
  type CertificationStep,
  CONSOLE_API,
  type PageOf,
} from "../contract.ts";
import { addressOf, post, useAnswer, useMay } from "../data/queries.ts";
import { readInstant, writeCount, writeDuration, writeMany } from "../field/format.ts";
import { FormDialogButton, typed } from "../parts/dialog.tsx";
import { AddressSelect, InputField, InstantFilter } from "../parts/field.tsx";
import { Filters } from "../parts/filters.tsx";
import { type Column, ExportButtons, ListPage, Table, useList } from "../parts/list.tsx";
import { DetailPage, Empty, Facts, Figures, Notice } from "../parts/page.tsx";
import { Badge, ClientLink, Instant, PropertyLink, RequestLink, Who } from "../parts/values.tsx";
import { useFilters } from "../routing/filters.ts";
import { ClientField, ClientFilter } from "./clients.tsx";

const countOf = (steps: readonly CertificationStep[], result: CertificationStep["result"]) =>
  steps.filter((step) => step.result === result).length;

/** Loaded separately from the list, because a report may take a second. */
function Checks({ certificationId }: { certificationId: string }) {
  const { data, error } = useAnswer<CertificationAnswer>(`certifications/${certificationId}`);
  if (data === undefined) return <span className="muted">{error === null ? "…" : "not known"}</span>;
  const failed = countOf(data.steps, "fail");
  return (
    <span className="badges">
      {countOf(data.steps, "pass")} of {data.steps.length} passed
      {failed > 0 && <Badge tone="bad">{failed} failed</Badge>}
    </span>
  );
}

function State({ isOpen }: { isOpen: boolean }) {
  return <Badge tone={isOpen ? "accent" : "plain"}>{isOpen ? "open" : "ended"}</Badge>;
}

const COLUMNS: readonly Column<CertificationItem>[] = [
  {
    head: "Client",
    lead: true,
    cell: ({ certificationId, clientName }) => (
      <Link to={`/certifications/${certificationId}`}>{clientName}</Link>
    ),
  },
  { head: "Resources", cell: ({ resources }) => resources.join(", ") },
  { head: "Started", cell: ({ openedAt }) => <Instant at={openedAt} /> },
  { head: "State", cell: ({ isOpen }) => <State isOpen={isOpen} /> },
  { head: "Until", cell: ({ endsAt }) => <Instant at={endsAt} /> },
  { head: "Checks", cell: ({ certificationId }) => <Checks certificationId={certificationId} /> },
];

export function CertificationsPage() {
  const { clientId = "", state } = Object.fromEntries(useFilters().filters);
  const mayStart = useMay()("manage-certifications");
  return (
    <ListPage
      title="Certification"
      lead="What each partner's integration has shown of the checklist."
      actions={mayStart && <StartButton clientId={clientId} />}
      asked={useList<PageOf<CertificationItem>>("certifications", { clientId, state }, { limit: 20 })}
      filters={
        <>
          <AddressSelect name="state" label="State" options={{ "": "Any", open: "open", ended: "ended" }} />
          {useMay()("read-clients") && <ClientFilter />}
        </>
      }
      caption="Certifications, newest first"
      columns={COLUMNS}
      keyOf={({ certificationId }) => certificationId}
      noun={["certification"]}
      empty={
        clientId === "" && state === undefined ? (
          <Empty title="No certifications yet">
            Start one for a partner's sandbox client: its requests are then checked step by step.
          </Empty>
        ) : (
          <Empty title="No certification matches these filters" />
        )
      }
      csv="certificationId clientId clientName clientCode propertyCode resources openedAt openedBy endsAt isOpen"
    />
  );
}

function StartButton({ clientId }: { clientId: string }) {
  const [, go] = useLocation();
  const submit = async (form: FormData) => {
    const property = typed(form, "property");
    const request = { clientId: typed(form, "clientId"), days: Number(typed(form, "days")) };
    const { certificationId } = await post<CertificationAnswer>(
      "certifications",
      property === "" ? request : { ...request, property },
    );
    go(`/certifications/${certificationId}`);
  };
  return (
    <FormDialogButton
      opener="Start…"
      openerKind="main"
      title="Start a certification"
      text="While it is open the client has a low request rate and short tokens, so that it meets both. An open one of the client ends."
      button="Start"
      done="The certification is open."
      onSubmit={submit}
    >
      <ClientField chosen={clientId} />
      <InputField
        name="property"
        label="Property of the instructions (optional)"
        hint="CLIENTCODE/PROPERTYCODE. Empty: the first that the client was granted."
        autoComplete="off"
      />
      <InputField
        name="days"
        label="Days until it ends"
        type="number"
        min={1}
        max={90}
        required
        defaultValue={14}
      />
    </FormDialogButton>
  );
}

const RENEWED_MS = 15_000;

export function CertificationPage({ params }: { params: { certificationId: string } }) {
  const since = readInstant(useFilters().filters.get("since") ?? "");
  const address = addressOf(`certifications/${params.certificationId}`, { since });
  const asked = useAnswer<CertificationAnswer>(address, {
    againMs: (certification) => (certification?.isOpen === true ? RENEWED_MS : undefined),
    keeps: true,
  });
  return (
    <DetailPage
      title={asked.data === undefined ? "Certification" : `Certification of ${asked.data.clientName}`}
      crumbs={[{ to: "/certifications", text: "Certification" }]}
      {...(asked.data === undefined ? {} : { here: asked.data.clientName })}
      asked={asked}
      actions={(certification) => (
        <>
          <ExportButtons
            name={`checks-${certification.clientName}`}
            csv={STEPS_CSV}
            of={certification.steps}
          />
          <Actions certification={certification} since={since} />
        </>
      )}
    >
      {(certification) => <Certification certification={certification} />}
    </DetailPage>
  );
}

interface ActionsProps {
  readonly certification: CertificationAnswer;
  readonly since: string | undefined;
}

function Actions({ certification: { certificationId, clientName, isOpen }, since }: ActionsProps) {
  const path = `certifications/${certificationId}`;
  const mayFinish = useMay()("manage-certifications") && isOpen;
  return (
    <>
      <a className="button" href={`${CONSOLE_API}/${addressOf(`${path}/report`, { since })}`} download>
        Download report
      </a>
      {mayFinish && (
        <FormDialogButton
          opener="Finish…"
          title="Finish this certification?"
          text={`Requests from now on do not count, and ${clientName} has its own limits again. The report is kept.`}
          button="Finish"
          done="The certification has ended."
          onSubmit={() => post(`${path}/end`, {})}
        />
      )}
    </>
  );
}

const RESULTS = {
  pass: "passed",
  fail: <Badge tone="bad">failed</Badge>,
  "not-yet": <span className="muted">not seen yet</span>,
} as const;

const STEPS: readonly Column<CertificationStep>[] = [
  { head: "Check", lead: true, cell: ({ title }) => title },
  { head: "Result", cell: ({ result }) => RESULTS[result] },
  { head: "Details", prose: true, cell: ({ reason }) => <span className="break">{reason}</span> },
];

const STEPS_CSV = "step title result reason requestIds instruction docs";

function Certification({ certification }: { certification: CertificationAnswer }) {
  const { steps, observed, evidence, isOpen } = certification;
  const ways = Object.entries(observed.compressed).map(([way, count]) => `${writeCount(count)} ${way}`);
  const seen = [
    writeMany(observed.batches, "batch", "batches"),
    writeMany(observed.records, "record"),
    observed.pending > 0 && `${writeCount(observed.pending)} being applied`,
    writeMany(observed.tokens, "token"),
    observed.rateLimited > 0 && `${writeMany(observed.rateLimited, "answer")} 429`,
    observed.refused > 0 && `${writeCount(observed.refused)} refused`,
    observed.lenient > 0 && `${writeCount(observed.lenient)} lenient`,
    observed.keyed > 0 && `${writeCount(observed.keyed)} with a key`,
    ...ways,
  ].filter(Boolean);
  return (
    <>
      <Figures
        figures={[
          { name: "Checks passed", value: `${countOf(steps, "pass")} of ${steps.length}` },
          { name: "Failed", value: countOf(steps, "fail") },
          { name: "Not seen yet", value: countOf(steps, "not-yet") },
          { name: "Last request", value: <Instant at={evidence.until} as="ago" /> },
        ]}
      />
      <Facts
        wide="Seen"
        facts={{
          State: <State isOpen={isOpen} />,
          Client: <ClientLink clientId={certification.clientId} name={certification.clientName} />,
          "May push": certification.resources.join(", ") || "nothing",
          "Property of the instructions": <PropertyLink of={certification} />,
          Limits: `${certification.requestRate} requests a second, burst ${certification.requestBurst}`,
          "Lifetime of tokens": writeDuration(certification.tokenSeconds),
          Started: <Instant at={certification.openedAt} />,
          "Started by": <Who who={certification.openedBy} />,
          [isOpen ? "Ends" : "Ended"]: <Instant at={certification.endsAt} />,
          Seen: seen.join(" · "),
        }}
      />
      {!evidence.isWhole && (
        <Notice tone="warn" title="There were more requests than one report reads">
          The newest 1,000 with 10,000 records count.
        </Notice>
      )}
      <Filters>
        <InstantFilter name="since" label="Only requests since" first />
      </Filters>
      <Table
        caption="Checks, in the order of the checklist"
        columns={STEPS}
        rows={steps}
        keyOf={({ step }) => step}
        look="steps"
        detail={{ of: (step) => <Step step={step} />, startsOpen: ({ result }) => result === "fail" }}
      />
    </>
  );
}

/** `Documentation: cold start, what to send` of `guides/cold-start#what-to-send` */
function nameOf(docs: string): string {
  return `Documentation: ${docs.replace("guides/", "").replace("#", ", ").replaceAll("-", " ")}`;
}

function Step({ step: { instruction, requestIds, docs, result } }: { step: CertificationStep }) {
  return (
    <dl className="changes">
      <div>
        <dt>Expected</dt>
        <dd>{instruction}</dd>
      </div>
      {requestIds.length > 0 && (
        <div>
          <dt>Requests</dt>
          <dd className="badges">
            {requestIds.map((id) => (
              <RequestLink key={id} requestId={id} />
            ))}
          </dd>
        </div>
      )}
      <div>
        <dt>{result === "fail" ? "How to fix it" : "How it is done"}</dt>
        <dd>
          <a href={`/docs/${docs}`}>{nameOf(docs)}</a>
        </dd>
      </div>
    </dl>
  );
}
