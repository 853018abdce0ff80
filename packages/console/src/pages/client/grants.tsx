import { useState } from "react";
import type { ClientAnswer, Grant } from "../../contract.ts";
import { tell } from "../../data/call.ts";
import { writeCount } from "../../field/format.ts";
import { readGrants, writeGrant } from "../../field/grant-text.ts";
import { Button } from "../../parts/button.tsx";
import { GrantsField } from "../../parts/client-fields.tsx";
import { useDeed } from "../../parts/deed.tsx";
import { FormDialog } from "../../parts/dialog.tsx";
import { Section } from "../../parts/page.tsx";
import { Empty, Failure } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";

/** The hotels that a client may push and read. */
export function Grants({ client }: { readonly client: ClientAnswer }) {
  const [adding, setAdding] = useState(false);
  const deed = useDeed();
  const isLive = client.revokedAt === null;
  const update = (body: object) => tell<ClientAnswer>(`clients/${client.clientId}/update`, body);
  const remove = (grant: Grant) =>
    deed.run(() => update({ removeGrants: [grant] }), `The grant ${writeGrant(grant)} is removed.`);
  return (
    <Section
      title="Grants"
      aside={isLive ? <Button onClick={() => setAdding(true)}>Add grants …</Button> : undefined}
    >
      <Failure error={deed.error} />
      {client.grants.length === 0 ? (
        <Empty title="This client may not push or read any hotel">
          Its requests are refused with 403 until it has a grant.
        </Empty>
      ) : (
        <Table
          caption="Hotels that the client may push and read"
          rows={client.grants}
          keyOf={writeGrant}
          columns={[
            { head: "Client code", lead: true, cell: ({ clientCode }) => clientCode },
            {
              head: "Property code",
              cell: ({ propertyCode }) => (propertyCode === "*" ? "every property" : propertyCode),
            },
            {
              head: "Change",
              end: true,
              action: true,
              cell: (grant) =>
                isLive ? (
                  <Button
                    kind="quiet"
                    busy={deed.busy}
                    aria-label={`Remove ${writeGrant(grant)}`}
                    onClick={() => remove(grant)}
                  >
                    Remove
                  </Button>
                ) : null,
            },
          ]}
        />
      )}
      {client.grantTotal > client.grants.length ? (
        <p className="muted">
          The first {writeCount(client.grants.length)} of {writeCount(client.grantTotal)}.
        </p>
      ) : null}
      {adding ? <AddGrantsDialog update={update} onClose={() => setAdding(false)} /> : null}
    </Section>
  );
}

interface AddGrantsDialogProps {
  readonly update: (body: object) => Promise<unknown>;
  readonly onClose: () => void;
}

function AddGrantsDialog({ update, onClose }: AddGrantsDialogProps) {
  const [text, setText] = useState("");
  const { grants, wrong } = readGrants(text);
  return (
    <FormDialog
      title="Add grants"
      button="Grant"
      ready={wrong.length === 0 && grants.length > 0}
      onSubmit={() => update({ addGrants: grants })}
      onClose={onClose}
    >
      <GrantsField label="Hotels" text={text} wrong={wrong} onChange={setText} />
    </FormDialog>
  );
}
