import { useState } from "react";
import type { WebhookEventName, WebhookSecretAnswer } from "../../contract.ts";
import { tell } from "../../data/call.ts";
import { FormDialog } from "../../parts/dialog.tsx";
import { InputField, SelectField } from "../../parts/field.tsx";

const EVENTS = [
  ["request.applied", "applied batches"],
  ["changes.available", "changed records"],
  ["both", "both"],
] as const;
type EventChoice = (typeof EVENTS)[number][0];

function eventsOf(choice: EventChoice): readonly WebhookEventName[] {
  return choice === "both" ? ["changes.available", "request.applied"] : [choice];
}

interface NewWebhookDialogProps {
  /** The client, where the address names one. */
  readonly clientId: string;
  readonly onClose: () => void;
  readonly onDone: (answer: WebhookSecretAnswer) => void;
}

/** Registers an endpoint for a client. */
export function NewWebhookDialog({ clientId, onClose, onDone }: NewWebhookDialogProps) {
  const [client, setClient] = useState(clientId);
  const [url, setUrl] = useState("");
  const [choice, setChoice] = useState<EventChoice>("request.applied");
  const submit = async () => {
    const request = { clientId: client.trim(), url: url.trim(), events: eventsOf(choice) };
    onDone(await tell<WebhookSecretAnswer>("webhooks", request));
  };
  return (
    <FormDialog title="New endpoint" button="Register" onSubmit={submit} onClose={onClose}>
      <InputField label="Client id" required autoComplete="off" value={client} onChange={setClient} />
      <InputField
        label="Address"
        hint="A public https address."
        required
        type="url"
        placeholder="https://partner.example/bellhop"
        value={url}
        onChange={setUrl}
      />
      <SelectField label="Events" value={choice} options={EVENTS} onChange={setChoice} />
    </FormDialog>
  );
}
