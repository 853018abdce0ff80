import { useState } from "react";
import type { ClientAnswer, Grant, RotateSecretAnswer, SecretItem } from "../contract.ts";
import { post, postChanges, useAnswer, useMay } from "../data/queries.ts";
import { readGrants, writeCount, writeGrant } from "../field/format.ts";
import { Button, LinkButton } from "../parts/button.tsx";
import { DialogButton, FormDialog, FormDialogButton, SecretDialog, useDeed } from "../parts/dialog.tsx";
import { InputField, SelectField } from "../parts/field.tsx";
import { Table } from "../parts/list.tsx";
import { DetailPage, Empty, Facts, Failure, Notice, Section } from "../parts/page.tsx";
import { Badge, Copyable, Instant } from "../parts/values.tsx";
import {
  DaysField,
  GrantsField,
  LimitFields,
  NameField,
  NULL_READINGS,
  NullsField,
  readClient,
  readDays,
  ScopeFields,
} from "./clients.tsx";

export function ClientPage({ params }: { params: { clientId: string } }) {
  const asked = useAnswer<ClientAnswer>(`clients/${params.clientId}`);
  return (
    <DetailPage
      title={asked.data?.name ?? "Client"}
      crumbs={[{ to: "/clients", text: "Clients" }]}
      asked={asked}
      actions={(client) => <Actions client={client} />}
    >
      {(client) => <Client client={client} />}
    </DetailPage>
  );
}

function Actions({ client }: { client: ClientAnswer }) {
  const { clientId } = client;
  const [rotated, setRotated] = useState<RotateSecretAnswer>();
  const requests = (
    <>
      <LinkButton to={`/requests?clientId=${clientId}`}>Requests</LinkButton>
      <LinkButton to={`/certifications?clientId=${clientId}`}>Certification</LinkButton>
    </>
  );
  if (!useMay()("manage-clients") || client.revokedAt !== null) return requests;
  return (
    <>
      {requests}
      <DialogButton text="Edit…">
        {(close) => <EditClientDialog client={client} onClose={close} />}
      </DialogButton>
      <RotateButton clientId={clientId} onDone={setRotated} />
      <DialogButton text="Revoke…" kind="danger">
        {(close) => <RevokeDialog client={client} onClose={close} />}
      </DialogButton>
      {rotated !== undefined && <RotatedDialog rotated={rotated} onClose={() => setRotated(undefined)} />}
    </>
  );
}

function RotatedDialog({ rotated, onClose }: { rotated: RotateSecretAnswer; onClose: () => void }) {
  const { clientId, clientSecret, previousExpiresAt, endedCreatedAt } = rotated;
  return (
    <SecretDialog title="The new secret" clientId={clientId} secret={clientSecret} onClose={onClose}>
      <p className="muted">
        {previousExpiresAt === null ? (
          "No other secret is valid."
        ) : (
          <>
            The previous secret stays valid until <Instant at={previousExpiresAt} />.
          </>
        )}
        {endedCreatedAt !== null && " An older one has ended: a client has at most two secrets."}
      </p>
    </SecretDialog>
  );
}

function Client({ client }: { client: ClientAnswer }) {
  const { defaults } = client;
  const limit = (own: number | null, fallback: number) =>
    own === null ? `${writeCount(fallback)} (default)` : writeCount(own);
  return (
    <>
      {client.revokedAt !== null && (
        <Notice tone="bad" title="Revoked for good">
          Since <Instant at={client.revokedAt} /> its requests are refused. The records it sent stay.
        </Notice>
      )}
      <Facts
        wide="Scopes"
        facts={{
          "Last used": <Instant at={client.lastUsedAt} as="ago" />,
          Created: <Instant at={client.createdAt} />,
          "Requests a second": limit(client.requestRate, defaults.requestRate),
          "Burst of requests": limit(client.requestBurst, defaults.requestBurst),
          "Burst of tokens": limit(client.tokenBurst, defaults.tokenBurst),
          Scopes: client.scopes.join(", "),
          "Reply to": client.replyToOrigins.join(", "),
          "Null in optional fields": NULL_READINGS[client.nulls],
        }}
      />
      <Section title="Client id">
        <Copyable text={client.clientId} what="client id" />
      </Section>
      <Secrets client={client} />
      <Grants client={client} />
    </>
  );
}

function EditClientDialog({ client, onClose }: { client: ClientAnswer; onClose: () => void }) {
  // Refetching does not change the fields.
  const [shown] = useState(client);
  return (
    <FormDialog
      title={`Edit ${shown.name}`}
      button="Save"
      done="Saved. Changes apply at once, also to tokens already issued."
      onSubmit={(form) => postChanges(`clients/${shown.clientId}/update`, shown, readClient(form))}
      onClose={onClose}
    >
      <NameField defaultValue={shown.name} />
      <ScopeFields known={shown.knownScopes} chosen={shown.scopes} />
      <NullsField chosen={shown.nulls} />
      <LimitFields limits={shown} defaults={shown.defaults} />
    </FormDialog>
  );
}

function Grants({ client }: { client: ClientAnswer }) {
  const deed = useDeed();
  const mayChange = useMay()("manage-clients") && client.revokedAt === null;
  const update = (body: object) => post<ClientAnswer>(`clients/${client.clientId}/update`, body);
  const remove = (grant: Grant) =>
    deed.run(() => update({ removeGrants: [grant] }), `The grant ${writeGrant(grant)} is removed.`);
  const removeButton = (grant: Grant) => (
    <Button
      kind="quiet"
      busy={deed.busy}
      aria-label={`Remove ${writeGrant(grant)}`}
      onClick={() => remove(grant)}
    >
      Remove
    </Button>
  );
  return (
    <Section
      title="Grants"
      aside={
        mayChange && (
          <DialogButton text="Add grants…">
            {(close) => <AddGrantsDialog update={update} onClose={close} />}
          </DialogButton>
        )
      }
    >
      <Failure error={deed.error} />
      <Table
        caption="Hotels that the client may push and read"
        rows={client.grants}
        empty={
          <Empty title="This client may not push or read any hotel">
            Its requests are refused with 403 until it has a grant.
          </Empty>
        }
        keyOf={writeGrant}
        columns={[
          { head: "Client code", lead: true, cell: ({ clientCode }) => clientCode },
          {
            head: "Property code",
            cell: ({ propertyCode }) => (propertyCode === "*" ? "every property" : propertyCode),
          },
          { head: "Change", end: true, action: true, cell: (grant) => mayChange && removeButton(grant) },
        ]}
      />
      {client.grantTotal > client.grants.length && (
        <p className="muted">
          The first {writeCount(client.grants.length)} of {writeCount(client.grantTotal)}.
        </p>
      )}
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

/** Permanent, so the operator types the id. */
function RevokeDialog({ client, onClose }: { client: ClientAnswer; onClose: () => void }) {
  const { clientId, name } = client;
  const [confirm, setConfirm] = useState("");
  return (
    <FormDialog
      title={`Revoke ${name}?`}
      text="Its tokens and secrets are refused from now on, permanently. The records it sent stay. To give the partner access again, create a new client."
      button="Revoke for good"
      danger
      ready={confirm.trim() === clientId}
      done={`${name} is revoked.`}
      onSubmit={() => post(`clients/${clientId}/disable`, { confirm: confirm.trim() })}
      onClose={onClose}
    >
      <InputField
        label="Type the client id to confirm"
        hint={<code>{clientId}</code>}
        required
        autoComplete="off"
        value={confirm}
        onChange={setConfirm}
      />
    </FormDialog>
  );
}

const OVERLAPS = [
  ["86400", "a day"],
  ["604800", "a week"],
  ["3600", "an hour"],
  ["0", "not at all: it leaked"],
] as const;

interface RotateProps {
  readonly clientId: string;
  readonly onDone: (answer: RotateSecretAnswer) => void;
}

function RotateButton({ clientId, onDone }: RotateProps) {
  const submit = async (form: FormData) => {
    const request = { overlapSeconds: Number(form.get("overlap")), expiresSeconds: readDays(form) };
    onDone(await post<RotateSecretAnswer>(`clients/${clientId}/rotate`, request));
  };
  return (
    <FormDialogButton
      opener="Rotate the secret…"
      title="Rotate the secret"
      text="The client gets a new secret. Tokens already issued stay valid."
      button="Create a new secret"
      onSubmit={submit}
    >
      <SelectField name="overlap" label="The current secret stays valid for" options={OVERLAPS} />
      <DaysField label="The new secret expires after days" />
    </FormDialogButton>
  );
}

function Secrets({ client }: { client: ClientAnswer }) {
  const [ending, setEnding] = useState<SecretItem>();
  const endButton = (secret: SecretItem) => (
    <Button kind="quiet" onClick={() => setEnding(secret)}>
      Revoke now…
    </Button>
  );
  const mayChange = useMay()("manage-clients") && client.revokedAt === null;
  const canEnd = ({ live }: SecretItem) => live && mayChange;
  return (
    <Section
      title="Secrets"
      aside={<p>A client has at most two. Revoke the previous one when it is no longer used.</p>}
    >
      <Table
        caption="Secrets of this client"
        rows={client.secrets}
        empty={<Empty title="No secrets" />}
        keyOf={({ slot }) => String(slot)}
        columns={[
          { head: "Created", lead: true, cell: ({ createdAt }) => <Instant at={createdAt} /> },
          { head: "State", cell: ({ live }) => (live ? "live" : <Badge icon="off">ended</Badge>) },
          {
            head: "Expires",
            cell: ({ expiresAt }) => (expiresAt === null ? "never" : <Instant at={expiresAt} />),
          },
          { head: "Last used", cell: ({ lastUsedAt }) => <Instant at={lastUsedAt} as="ago" /> },
          { head: "Change", end: true, action: true, cell: (secret) => canEnd(secret) && endButton(secret) },
        ]}
      />
      {ending !== undefined && (
        <FormDialog
          title="Revoke this secret now?"
          text={
            <>
              The secret of <Instant at={ending.createdAt} /> is refused from now on. Tokens already issued
              stay valid.
            </>
          }
          button="End it"
          danger
          done="The secret has ended."
          onSubmit={() => post(`clients/${client.clientId}/end-secret`, { createdAt: ending.createdAt })}
          onClose={() => setEnding(undefined)}
        />
      )}
    </Section>
  );
}
