import type { ReactNode } from "react";
import { Button } from "./button.tsx";
import { Copyable } from "./copyable.tsx";
import { Dialog } from "./dialog.tsx";
import { Notice } from "./states.tsx";

interface SecretDialogProps {
  readonly title: string;
  /** Whose secret it is, where that is handed over with it. */
  readonly clientId?: string;
  /** What to heed with it, in place of what holds for a client's. */
  readonly warning?: string;
  readonly secret: string;
  readonly children?: ReactNode;
  readonly onClose: () => void;
}

const DIGEST_ONLY =
  "Hand it over on a secure channel. The service keeps only its digest and cannot show it again.";

/** A secret, this once. */
export function SecretDialog(props: SecretDialogProps) {
  const { title, clientId, warning = DIGEST_ONLY, secret, children, onClose } = props;
  return (
    <Dialog title={title} onClose={onClose} stays>
      <div className="stack">
        <Notice tone="warn" title="The secret is shown this once">
          {warning}
        </Notice>
        {clientId === undefined ? null : (
          <div className="field">
            <span className="label">Client id</span>
            <Copyable text={clientId} what="client id" />
          </div>
        )}
        <div className="field">
          <span className="label">Secret</span>
          <Copyable text={secret} what="secret" />
        </div>
        {children}
        <div className="form-actions">
          <Button kind="main" onClick={onClose}>
            I have kept it
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
