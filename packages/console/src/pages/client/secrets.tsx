import { useState } from "react";
import type { ClientAnswer, SecretItem } from "../../contract.ts";
import { tell } from "../../data/call.ts";
import { Button } from "../../parts/button.tsx";
import { FormDialog } from "../../parts/dialog.tsx";
import { Section } from "../../parts/page.tsx";
import { Empty } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import { Badge, Instant } from "../../parts/values.tsx";

/** Its secrets, without anything secret: once the old one is unused, the partner has changed over. */
export function Secrets({ client }: { readonly client: ClientAnswer }) {
  const [ending, setEnding] = useState<SecretItem>();
  return (
    <Section
      title="Secrets"
      aside={<p>At most two. When the old one is unused, the partner has changed over.</p>}
    >
      {client.secrets.length === 0 ? (
        <Empty title="No secrets" />
      ) : (
        <Table
          caption="Secrets of this client"
          rows={client.secrets}
          keyOf={({ slot }) => String(slot)}
          columns={[
            { head: "Created", lead: true, cell: ({ createdAt }) => <Instant at={createdAt} /> },
            { head: "State", cell: ({ live }) => (live ? "live" : <Badge icon="off">ended</Badge>) },
            {
              head: "Expires",
              cell: ({ expiresAt }) => (expiresAt === null ? "never" : <Instant at={expiresAt} />),
            },
            { head: "Last used", cell: ({ lastUsedAt }) => <Instant at={lastUsedAt} as="ago" /> },
            {
              head: "Change",
              end: true,
              action: true,
              cell: (secret) =>
                secret.live && client.revokedAt === null ? (
                  <Button kind="quiet" onClick={() => setEnding(secret)}>
                    End now …
                  </Button>
                ) : null,
            },
          ]}
        />
      )}
      {ending === undefined ? null : (
        <FormDialog
          title="End this secret now?"
          text={
            <>
              The secret of <Instant at={ending.createdAt} /> is refused from now on. Tokens already issued
              stay valid.
            </>
          }
          button="End it"
          danger
          done="The secret has ended."
          onSubmit={() => tell(`clients/${client.clientId}/end-secret`, { slot: ending.slot })}
          onClose={() => setEnding(undefined)}
        />
      )}
    </Section>
  );
}
