import type { WebhookSecretAnswer } from "../../contract.ts";
import { Instant } from "../../parts/instant.tsx";
import { SecretDialog } from "../../parts/secret-dialog.tsx";

interface WebhookSecretDialogProps {
  readonly made: WebhookSecretAnswer;
  readonly onClose: () => void;
}

/** The secret that an endpoint's messages are signed with, this once. */
export function WebhookSecretDialog({ made, onClose }: WebhookSecretDialogProps) {
  return (
    <SecretDialog
      title="The endpoint's secret"
      warning="Hand it over on a secure channel: who has it can make messages that look like the service's."
      secret={made.secret}
      onClose={onClose}
    >
      {made.previousExpiresAt === null ? null : (
        <p className="muted">
          Messages are signed with the former one too until <Instant at={made.previousExpiresAt} />.
        </p>
      )}
    </SecretDialog>
  );
}
