import { useState } from "react";
import type { ClientAnswer } from "../../contract.ts";
import { tell } from "../../data/call.ts";
import { FormDialog } from "../../parts/dialog.tsx";
import { InputField } from "../../parts/field.tsx";

interface RevokeDialogProps {
  readonly client: ClientAnswer;
  readonly onClose: () => void;
}

/** Permanent, so the id is typed again. */
export function RevokeDialog({ client: { clientId, name }, onClose }: RevokeDialogProps) {
  const [typed, setTyped] = useState("");
  return (
    <FormDialog
      title={`Revoke ${name}?`}
      text="Its tokens and secrets are refused from now on, permanently. The records it sent stay. To give the partner access again, create a new client."
      button="Revoke for good"
      danger
      ready={typed.trim() === clientId}
      done={`${name} is revoked.`}
      onSubmit={() => tell(`clients/${clientId}/disable`, { confirm: typed.trim() })}
      onClose={onClose}
    >
      <InputField
        label="Type the client id to confirm"
        hint={<code>{clientId}</code>}
        required
        autoComplete="off"
        value={typed}
        onChange={setTyped}
      />
    </FormDialog>
  );
}
