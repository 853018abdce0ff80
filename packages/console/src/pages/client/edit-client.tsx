import { type FormEvent, useState } from "react";
import type { ClientAnswer } from "../../contract.ts";
import { tell } from "../../data/call.ts";
import { Button } from "../../parts/button.tsx";
import { LimitFields, readLimits, ScopeFields, typeLimits } from "../../parts/client-fields.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Field } from "../../parts/field.tsx";
import { Failure } from "../../parts/states.tsx";
import { useSay } from "../../parts/toast.tsx";
import { useDeed } from "../../parts/use-deed.ts";

interface EditClientDialogProps {
  readonly client: ClientAnswer;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Name, scopes and limits. */
export function EditClientDialog({ client, onClose, onDone }: EditClientDialogProps) {
  const [name, setName] = useState(client.name);
  const [scopes, setScopes] = useState(client.scopes);
  const [limits, setLimits] = useState(() => typeLimits(client));
  const deed = useDeed();
  const say = useSay();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    deed.run(async () => {
      const request = { name, scopes, ...readLimits(limits) };
      await tell<ClientAnswer>(`clients/${client.clientId}/update`, request);
      say("The client is changed; it holds at once, for tokens that are out too.");
      onDone();
    });
  };
  return (
    <Dialog title={`Edit ${client.name}`} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <Failure error={deed.error} />
        <Field label="Name">
          {(tied) => (
            <input
              {...tied}
              required
              maxLength={128}
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <ScopeFields known={client.knownScopes} chosen={scopes} onChange={setScopes} />
        <LimitFields limits={limits} defaults={client.defaults} onChange={setLimits} />
        <div className="form-actions">
          <Button type="submit" kind="main" busy={deed.busy}>
            Save
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}
