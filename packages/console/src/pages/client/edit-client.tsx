import { useState } from "react";
import type { ClientAnswer } from "../../contract.ts";
import { tell } from "../../data/call.ts";
import { LimitFields, readLimits, ScopeFields, typeLimits } from "../../parts/client-fields.tsx";
import { FormDialog } from "../../parts/dialog.tsx";
import { InputField } from "../../parts/field.tsx";

interface EditClientDialogProps {
  readonly client: ClientAnswer;
  readonly onClose: () => void;
}

/** Name, scopes and limits. */
export function EditClientDialog({ client, onClose }: EditClientDialogProps) {
  const [name, setName] = useState(client.name);
  const [scopes, setScopes] = useState(client.scopes);
  const [limits, setLimits] = useState(() => typeLimits(client));
  return (
    <FormDialog
      title={`Edit ${client.name}`}
      button="Save"
      done="The client is changed. The change applies at once, also to tokens already issued."
      onSubmit={() => tell(`clients/${client.clientId}/update`, { name, scopes, ...readLimits(limits) })}
      onClose={onClose}
    >
      <InputField label="Name" required maxLength={128} value={name} onChange={setName} />
      <ScopeFields known={client.knownScopes} chosen={scopes} onChange={setScopes} />
      <LimitFields limits={limits} defaults={client.defaults} onChange={setLimits} />
    </FormDialog>
  );
}
