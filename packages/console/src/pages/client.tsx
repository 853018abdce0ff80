import { useState } from "react";
import type { ClientAnswer, RotateSecretAnswer } from "../contract.ts";
import { useAnswer } from "../data/queries.ts";
import { writeCount } from "../field/format.ts";
import { Button, LinkButton } from "../parts/button.tsx";
import { SecretDialog } from "../parts/dialog.tsx";
import { Facts, Page, Section } from "../parts/page.tsx";
import { Answered, Notice } from "../parts/states.tsx";
import { Copyable, Instant } from "../parts/values.tsx";
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
  return (
    <Page
      title={client?.name ?? "Client"}
      crumbs={[{ to: "/clients", text: "Clients" }]}
      actions={isLive ? <Actions clientId={clientId} onDo={setDoing} /> : undefined}
    >
      <Answered asked={asked} lines={10}>
        {(answer) => <Client client={answer} />}
      </Answered>
      {doing === "rotate" ? <RotateDialog clientId={clientId} onClose={close} onDone={setRotated} /> : null}
      {doing === "edit" && client !== undefined ? <EditClientDialog client={client} onClose={close} /> : null}
      {doing === "revoke" && client !== undefined ? <RevokeDialog client={client} onClose={close} /> : null}
      {rotated === undefined ? null : (
        <SecretDialog
          title="The new secret"
          clientId={rotated.clientId}
          secret={rotated.clientSecret}
          onClose={() => setRotated(undefined)}
        >
          <p className="muted">
            {rotated.previousExpiresAt === null ? (
              "No other secret is valid."
            ) : (
              <>
                The previous secret stays valid until <Instant at={rotated.previousExpiresAt} />.
              </>
            )}
            {rotated.endedCreatedAt === null
              ? null
              : " An older one has ended: a client has at most two secrets."}
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

function Client({ client }: { readonly client: ClientAnswer }) {
  const { defaults } = client;
  const limit = (own: number | null, fallback: number) =>
    own === null ? `${writeCount(fallback)} (default)` : writeCount(own);
  return (
    <>
      {client.revokedAt === null ? null : (
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
