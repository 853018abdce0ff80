import { useState } from "react";
import type { ClientAnswer, SecretItem } from "../../contract.ts";
import { tell } from "../../data/call.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Instant } from "../../parts/instant.tsx";
import { Section } from "../../parts/page.tsx";
import { Empty, Failure } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import { useSay } from "../../parts/toast.tsx";
import { useDeed } from "../../parts/use-deed.ts";

interface SecretsProps {
  readonly client: ClientAnswer;
  readonly onChange: () => void;
}

/** Its secrets, without anything secret: once the old one is not used any more, the partner has changed over. */
export function Secrets({ client, onChange }: SecretsProps) {
  const [ending, setEnding] = useState<SecretItem>();
  return (
    <Section
      title="Secrets"
      aside={<p>Two at most; when the old one is unused, the partner has changed over.</p>}
    >
      {client.secrets.length === 0 ? (
        <Empty title="No secret is left" />
      ) : (
        <Table
          caption="Secrets of this client"
          rows={client.secrets}
          keyOf={({ slot }) => String(slot)}
          columns={[
            { head: "Created", lead: true, cell: ({ createdAt }) => <Instant at={createdAt} /> },
            {
              head: "State",
              cell: ({ live }) => (live ? "live" : <Badge icon="off">ended</Badge>),
            },
            {
              head: "Ends",
              cell: ({ expiresAt }) => (expiresAt === null ? "not by itself" : <Instant at={expiresAt} />),
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
        <EndSecretDialog
          client={client}
          secret={ending}
          onClose={() => setEnding(undefined)}
          onDone={() => {
            setEnding(undefined);
            onChange();
          }}
        />
      )}
    </Section>
  );
}

interface EndSecretDialogProps {
  readonly client: ClientAnswer;
  readonly secret: SecretItem;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function EndSecretDialog({ client, secret, onClose, onDone }: EndSecretDialogProps) {
  const deed = useDeed();
  const say = useSay();
  const end = () =>
    deed.run(async () => {
      await tell<ClientAnswer>(`clients/${client.clientId}/end-secret`, { slot: secret.slot });
      say("The secret is ended.");
      onDone();
    });
  return (
    <Dialog title="End this secret now?" onClose={onClose}>
      <p className="muted">
        The secret of <Instant at={secret.createdAt} /> is refused from now on. Tokens that are out stay good.
      </p>
      <div className="stack">
        <Failure error={deed.error} />
        <div className="form-actions">
          <Button kind="danger" busy={deed.busy} onClick={end}>
            End it
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </div>
    </Dialog>
  );
}
