import type { RecordAnswer, RecordItem, RecordNotice } from "../contract.ts";
import { useAnswer } from "../data/queries.ts";
import { pointerWithin } from "../field/failed-counts.ts";
import { historyPath } from "../field/property-path.ts";
import { shortId } from "../field/short-id.ts";
import { OutcomeBadge } from "../parts/badge.tsx";
import { LinkButton } from "../parts/button.tsx";
import { Facts } from "../parts/figures.tsx";
import { Instant } from "../parts/instant.tsx";
import { Page, Section } from "../parts/page.tsx";
import { PayloadView } from "../parts/payload-view.tsx";
import { PropertyLink } from "../parts/property-link.tsx";
import { Answered } from "../parts/states.tsx";
import { Table } from "../parts/table.tsx";

/** One record of a batch: what became of it, and where in what was sent the reason stands. */
export function RecordPage({
  params,
}: {
  readonly params: { readonly requestId: string; readonly index: string };
}) {
  const { requestId, index } = params;
  const asked = useAnswer<RecordAnswer>(`requests/${requestId}/records/${index}`);
  return (
    <Page
      title={asked.data?.record.key ?? `Record ${index}`}
      lead={`Record ${index} of its batch, counted from 0.`}
      crumbs={[
        { to: "/requests", text: "Requests" },
        { to: `/requests/${requestId}`, text: `Request ${shortId(requestId)}` },
      ]}
      actions={<RecordActions answer={asked.data} />}
    >
      <Answered asked={asked} lines={10}>
        {(answer) => <OneRecord answer={answer} />}
      </Answered>
    </Page>
  );
}

function RecordActions({ answer }: { readonly answer: RecordAnswer | undefined }) {
  if (answer === undefined) return null;
  const { record, requestId, resource } = answer;
  const { clientCode, propertyCode, key } = record;
  return (
    <>
      {record.outcome === "quarantined" ? (
        <LinkButton kind="main" to={`/quarantine/${requestId}/${record.index}`}>
          Release or discard
        </LinkButton>
      ) : null}
      {clientCode !== null && propertyCode !== null && key !== null && record.outcome !== "rejected" ? (
        <LinkButton to={historyPath({ clientCode, propertyCode }, resource, key)}>
          History of {key}
        </LinkButton>
      ) : null}
    </>
  );
}

function OneRecord({ answer }: { readonly answer: RecordAnswer }) {
  const { record, payload } = answer;
  const told = allTold(record);
  const marked = told.flatMap(({ pointer }) => pointerWithin(pointer, record.index) ?? []);
  return (
    <>
      <Facts
        facts={[
          ["Outcome", <OutcomeBadge key="outcome" outcome={record.outcome} />],
          ["Received", <Instant key="received" at={answer.receivedAt} />],
          [
            "Property",
            <PropertyLink key="property" clientCode={record.clientCode} propertyCode={record.propertyCode} />,
          ],
          ["Resource", answer.resource],
          ...(record.resolvedAt === undefined
            ? []
            : ([["Decided on", <Instant key="resolved" at={record.resolvedAt} />]] as const)),
          // What is found below says it with where it stands.
          ...(record.message === null || told.length > 0 ? [] : ([["Why", record.message, "wide"]] as const)),
        ]}
      />
      {told.length === 0 ? null : (
        <Section title="What was found">
          <Table
            caption="Violations and warnings of this record"
            rows={told}
            keyOf={({ pointer, code }) => `${pointer} ${code}`}
            columns={[
              {
                head: "Pointer",
                lead: true,
                cell: ({ pointer }) => <code className="break">{pointer}</code>,
              },
              { head: "What is wrong", prose: true, cell: ({ message }) => message },
              { head: "Code", cell: ({ code }) => <code className="small">{code}</code> },
            ]}
          />
        </Section>
      )}
      <Section title="As it was sent">
        <PayloadView payload={payload} marked={marked.filter((pointer) => pointer !== "")} />
      </Section>
    </>
  );
}

function allTold({ violations = [], warnings, code, pointer, message }: RecordItem): readonly RecordNotice[] {
  const own = code === null || message === null || violations.length > 0 ? [] : [{ code, pointer, message }];
  return [...violations, ...own, ...warnings];
}
