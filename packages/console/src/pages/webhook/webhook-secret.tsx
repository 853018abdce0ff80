import type { WebhookSecretAnswer } from "../../contract.ts";
import { Button } from "../../parts/button.tsx";
import { Copyable } from "../../parts/copyable.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Instant } from "../../parts/instant.tsx";
import { Notice } from "../../parts/states.tsx";

interface WebhookSecretDialogProps {
  readonly made: WebhookSecretAnswer;
  readonly onClose: () => void;
}

/** The secret that an endpoint's messages are signed with, this once. */
export function WebhookSecretDialog({ made, onClose }: WebhookSecretDialogProps) {
  return (
    <Dialog title="The endpoint's secret" onClose={onClose}>
      <div className="stack">
        <Notice tone="warn" title="The secret is shown this once">
          Hand it over on a secure channel: who has it can make messages that look like the service's.
        </Notice>
        <div className="field">
          <span className="label">Secret</span>
          <Copyable text={made.secret} what="secret" />
        </div>
        {made.previousExpiresAt === null ? null : (
          <p className="muted">
            Messages are signed with the former one too until <Instant at={made.previousExpiresAt} />.
          </p>
        )}
        <div className="form-actions">
          <Button kind="main" onClick={onClose}>
            I have kept it
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
