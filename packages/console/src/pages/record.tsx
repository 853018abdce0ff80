import type { RecordAnswer, RecordItem, RecordNotice } from "../contract.ts";
import { useAnswer } from "../data/queries.ts";
import { shortId } from "../field/format.ts";
import { historyPath } from "../field/property-path.ts";
import { LinkButton } from "../parts/button.tsx";
import { Facts, Page, Section } from "../parts/page.tsx";
import { PayloadView } from "../parts/payload-view.tsx";
import { Answered } from "../parts/states.tsx";
import { Table } from "../parts/table.tsx";
import { Instant, OutcomeBadge, PropertyLink } from "../parts/values.tsx";

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
  const notices = noticesOf(record);
  const marked = notices.flatMap(({ pointer }) => pointerWithin(pointer, record.index) ?? []);
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
          // A notice below says it with its pointer.
          Why: notices.length > 0 ? null : record.message,
        }}
      />
      {notices.length === 0 ? null : (
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
      <Section title="As it was sent">
        <PayloadView payload={payload} marked={marked.filter((pointer) => pointer !== "")} />
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

/** The part of a pointer into the batch that points into the record: `/3/status` of record 3 is `/status`. */
function pointerWithin(pointer: string, index: number): string | undefined {
  const beginning = `/${index}`;
  if (pointer === beginning) return "";
  return pointer.startsWith(`${beginning}/`) ? pointer.slice(beginning.length) : undefined;
}
