import { type FormEvent, useState } from "react";
import type { ClientAnswer, Grant } from "../../contract.ts";
import { tell } from "../../data/call.ts";
import { writeCount } from "../../field/amounts.ts";
import { readGrants, writeGrant } from "../../field/grant-text.ts";
import { Button } from "../../parts/button.tsx";
import { GrantsField } from "../../parts/client-fields.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Section } from "../../parts/page.tsx";
import { Empty, Failure } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import { useSay } from "../../parts/toast.tsx";
import { useDeed } from "../../parts/use-deed.ts";

interface GrantsProps {
  readonly client: ClientAnswer;
  readonly onChange: () => void;
}

/** The hotels that it may push and read. */
export function Grants({ client, onChange }: GrantsProps) {
  const [adding, setAdding] = useState(false);
  const deed = useDeed();
  const say = useSay();
  const isLive = client.revokedAt === null;
  const remove = (grant: Grant) =>
    deed.run(async () => {
      await update(client.clientId, { removeGrants: [grant] });
      say(`${writeGrant(grant)} is not granted any more.`);
      onChange();
    });
  return (
    <Section
      title="Grants"
      aside={isLive ? <Button onClick={() => setAdding(true)}>Add grants …</Button> : undefined}
    >
      <Failure error={deed.error} />
      {client.grants.length === 0 ? (
        <Empty title="It may not push or read any hotel">
          Whatever it sends is refused with 403 until it is granted.
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
      {adding ? (
        <AddGrantsDialog
          clientId={client.clientId}
          onClose={() => setAdding(false)}
          onDone={() => {
            setAdding(false);
            onChange();
          }}
        />
      ) : null}
    </Section>
  );
}

function update(clientId: string, request: object): Promise<ClientAnswer> {
  return tell<ClientAnswer>(`clients/${clientId}/update`, request);
}

interface AddGrantsDialogProps {
  readonly clientId: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function AddGrantsDialog({ clientId, onClose, onDone }: AddGrantsDialogProps) {
  const [text, setText] = useState("");
  const deed = useDeed();
  const { grants, wrong } = readGrants(text);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (wrong.length > 0 || grants.length === 0) return;
    deed.run(async () => {
      await update(clientId, { addGrants: grants });
      onDone();
    });
  };
  return (
    <Dialog title="Add grants" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <Failure error={deed.error} />
        <GrantsField label="Hotels" text={text} wrong={wrong} onChange={setText} />
        <div className="form-actions">
          <Button type="submit" kind="main" busy={deed.busy}>
            Grant
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}
