import type { ReactNode } from "react";
import { Button } from "./button.tsx";
import { Copyable } from "./copyable.tsx";
import { Dialog } from "./dialog.tsx";
import { Notice } from "./states.tsx";

interface SecretDialogProps {
  readonly title: string;
  readonly clientId: string;
  readonly secret: string;
  readonly children?: ReactNode;
  readonly onClose: () => void;
}

/** A secret, this once. */
export function SecretDialog({ title, clientId, secret, children, onClose }: SecretDialogProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="stack">
        <Notice tone="warn" title="The secret is shown this once">
          Hand it over on a secure channel. The service keeps only its digest and cannot show it again.
        </Notice>
        <div className="field">
          <span className="label">Client id</span>
          <Copyable text={clientId} what="client id" />
        </div>
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
