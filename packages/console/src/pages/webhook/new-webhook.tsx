import { type FormEvent, useState } from "react";
import type { WebhookEventName, WebhookSecretAnswer } from "../../contract.ts";
import { tell } from "../../data/call.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Field, SelectField } from "../../parts/field.tsx";
import { Failure } from "../../parts/states.tsx";
import { useDeed } from "../../parts/use-deed.ts";

const EVENTS = [
  ["request.applied", "its batches that are applied"],
  ["changes.available", "records that change"],
  ["both", "both"],
] as const;
type Told = (typeof EVENTS)[number][0];

function eventsOf(told: Told): readonly WebhookEventName[] {
  return told === "both" ? ["changes.available", "request.applied"] : [told];
}

interface NewWebhookDialogProps {
  /** Whose, where that is known. */
  readonly clientId: string;
  readonly onClose: () => void;
  readonly onDone: (answer: WebhookSecretAnswer) => void;
}

/** Registers an address for a client. */
export function NewWebhookDialog({ clientId, onClose, onDone }: NewWebhookDialogProps) {
  const [client, setClient] = useState(clientId);
  const [url, setUrl] = useState("");
  const [told, setTold] = useState<Told>("request.applied");
  const deed = useDeed();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    deed.run(async () => {
      const request = {
        clientId: client.trim(),
        url: url.trim(),
        events: eventsOf(told),
      };
      onDone(await tell<WebhookSecretAnswer>("webhooks", request));
    });
  };
  return (
    <Dialog title="New endpoint" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <Failure error={deed.error} />
        <Field label="Client id">
          {(tied) => (
            <input
              {...tied}
              required
              value={client}
              autoComplete="off"
              spellCheck={false}
              onChange={(event) => setClient(event.target.value)}
            />
          )}
        </Field>
        <Field label="Address" hint="https, and public.">
          {(tied) => (
            <input
              {...tied}
              required
              type="url"
              value={url}
              placeholder="https://partner.example/bellhop"
              onChange={(event) => setUrl(event.target.value)}
            />
          )}
        </Field>
        <SelectField label="It is told of" value={told} options={EVENTS} onChange={setTold} />
        <div className="form-actions">
          <Button type="submit" kind="main" busy={deed.busy}>
            Register
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}
