import { useState } from "react";
import type { ClientAnswer, RotateSecretAnswer } from "../contract.ts";
import { useAnswer } from "../data/queries.ts";
import { writeCount } from "../field/amounts.ts";
import { Button, LinkButton } from "../parts/button.tsx";
import { Copyable } from "../parts/copyable.tsx";
import { Facts } from "../parts/figures.tsx";
import { Instant } from "../parts/instant.tsx";
import { Page, Section } from "../parts/page.tsx";
import { SecretDialog } from "../parts/secret-dialog.tsx";
import { Answered, Notice } from "../parts/states.tsx";
import { EditClientDialog } from "./client/edit-client.tsx";
import { Grants } from "./client/grants.tsx";
import { RevokeDialog } from "./client/revoke-client.tsx";
import { RotateDialog } from "./client/rotate-secret.tsx";
import { Secrets } from "./client/secrets.tsx";

type Doing = "rotate" | "edit" | "revoke";

/** One client: what it may, what it has used, and its secrets. */
export function ClientPage({ params }: { readonly params: { readonly clientId: string } }) {
  const { clientId } = params;
  const asked = useAnswer<ClientAnswer>(`clients/${clientId}`);
  const [doing, setDoing] = useState<Doing>();
  const [rotated, setRotated] = useState<RotateSecretAnswer>();
  const client = asked.data;
  const isLive = client !== undefined && client.revokedAt === null;
  const close = () => setDoing(undefined);
  const done = () => {
    close();
    asked.refetch();
  };
  return (
    <Page
      title={client?.name ?? "Client"}
      crumbs={[{ to: "/clients", text: "Clients" }]}
      actions={isLive ? <Actions clientId={clientId} onDo={setDoing} /> : undefined}
    >
      <Answered asked={asked} lines={10}>
        {(answer) => <Client client={answer} onChange={asked.refetch} />}
      </Answered>
      {doing === "rotate" ? (
        <RotateDialog
          clientId={clientId}
          onClose={close}
          onDone={(answer) => {
            setRotated(answer);
            done();
          }}
        />
      ) : null}
      {doing === "edit" && client !== undefined ? (
        <EditClientDialog client={client} onClose={close} onDone={done} />
      ) : null}
      {doing === "revoke" && client !== undefined ? (
        <RevokeDialog client={client} onClose={close} onDone={done} />
      ) : null}
      {rotated === undefined ? null : (
        <SecretDialog
          title="The new secret"
          clientId={rotated.clientId}
          secret={rotated.clientSecret}
          onClose={() => setRotated(undefined)}
        >
          <p className="muted">
            {rotated.previousExpiresAt === null ? (
              "No other secret is good any more."
            ) : (
              <>
                The one before works until <Instant at={rotated.previousExpiresAt} />.
              </>
            )}
            {rotated.endedCreatedAt === null ? null : " A still older one ended now: two are the most."}
          </p>
        </SecretDialog>
      )}
    </Page>
  );
}

function Actions({ clientId, onDo }: { readonly clientId: string; readonly onDo: (what: Doing) => void }) {
  return (
    <>
      <LinkButton to={`/requests?clientId=${clientId}`}>Its requests</LinkButton>
      <Button onClick={() => onDo("edit")}>Edit …</Button>
      <Button onClick={() => onDo("rotate")}>Rotate the secret …</Button>
      <Button kind="danger" onClick={() => onDo("revoke")}>
        Revoke …
      </Button>
    </>
  );
}

function Client({ client, onChange }: { readonly client: ClientAnswer; readonly onChange: () => void }) {
  const { defaults } = client;
  const limit = (own: number | null, fallback: number) =>
    own === null ? `${writeCount(fallback)} (default)` : writeCount(own);
  return (
    <>
      {client.revokedAt === null ? null : (
        <Notice tone="bad" title="Revoked for good">
          Since <Instant at={client.revokedAt} /> nothing it sends is taken. What it had sent stays.
        </Notice>
      )}
      <Facts
        facts={[
          ["Last used", <Instant key="used" at={client.lastUsedAt} as="ago" />],
          ["Created", <Instant key="created" at={client.createdAt} />],
          ["Requests a second", limit(client.requestRate, defaults.requestRate)],
          ["Burst of requests", limit(client.requestBurst, defaults.requestBurst)],
          ["Burst of tokens", limit(client.tokenBurst, defaults.tokenBurst)],
          ["Scopes", client.scopes.join(", "), "wide"],
          ...(client.replyToOrigins.length === 0
            ? []
            : ([["Reply to", client.replyToOrigins.join(", ")]] as const)),
        ]}
      />
      <Section title="Client id">
        <Copyable text={client.clientId} what="client id" />
      </Section>
      <Secrets client={client} onChange={onChange} />
      <Grants client={client} onChange={onChange} />
    </>
  );
}
