import type { WebhookSecretAnswer } from "../../contract.ts";
import { SecretDialog } from "../../parts/dialog.tsx";
import { Instant } from "../../parts/values.tsx";

interface WebhookSecretDialogProps {
  readonly made: WebhookSecretAnswer;
  readonly onClose: () => void;
}

/** The secret that an endpoint's messages are signed with, this once. */
export function WebhookSecretDialog({ made, onClose }: WebhookSecretDialogProps) {
  return (
    <SecretDialog
      title="The endpoint's secret"
      warning="Hand it over on a secure channel. Anyone who has it can forge messages of the service."
      secret={made.secret}
      onClose={onClose}
    >
      {made.previousExpiresAt === null ? null : (
        <p className="muted">
          Messages are also signed with the previous secret until <Instant at={made.previousExpiresAt} />.
        </p>
      )}
    </SecretDialog>
  );
}
