import { type FormEvent, useState } from "react";
import type { ClientAnswer } from "../../contract.ts";
import { tell } from "../../data/call.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Field } from "../../parts/field.tsx";
import { Failure } from "../../parts/states.tsx";
import { useSay } from "../../parts/toast.tsx";
import { useDeed } from "../../parts/use-deed.ts";

interface RevokeDialogProps {
  readonly client: ClientAnswer;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** For good, so the id is typed again. */
export function RevokeDialog({ client, onClose, onDone }: RevokeDialogProps) {
  const [typed, setTyped] = useState("");
  const deed = useDeed();
  const say = useSay();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    deed.run(async () => {
      await tell<ClientAnswer>(`clients/${client.clientId}/disable`, { confirm: typed.trim() });
      say(`${client.name} is revoked.`);
      onDone();
    });
  };
  return (
    <Dialog title={`Revoke ${client.name}?`} onClose={onClose}>
      <p className="muted">
        From now on its tokens and secrets are refused, for good. What it sent stays. A new client is the only
        way back.
      </p>
      <form className="stack" onSubmit={submit}>
        <Failure error={deed.error} />
        <Field label="Type the client id to confirm" hint={<code>{client.clientId}</code>}>
          {(tied) => (
            <input
              {...tied}
              required
              value={typed}
              autoComplete="off"
              spellCheck={false}
              onChange={(event) => setTyped(event.target.value)}
            />
          )}
        </Field>
        <div className="form-actions">
          <Button type="submit" kind="danger" busy={deed.busy || typed.trim() !== client.clientId}>
            Revoke for good
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}
