import { useState } from "react";
import type { RotateSecretAnswer } from "../../contract.ts";
import { tell } from "../../data/call.ts";
import { DaysField } from "../../parts/client-fields.tsx";
import { FormDialog } from "../../parts/dialog.tsx";
import { SelectField } from "../../parts/field.tsx";

const OVERLAPS = [
  ["86400", "a day"],
  ["604800", "a week"],
  ["3600", "an hour"],
  ["0", "not at all: it leaked"],
] as const;
type Overlap = (typeof OVERLAPS)[number][0];

interface RotateDialogProps {
  readonly clientId: string;
  readonly onClose: () => void;
  readonly onDone: (answer: RotateSecretAnswer) => void;
}

export function RotateDialog({ clientId, onClose, onDone }: RotateDialogProps) {
  const [overlap, setOverlap] = useState<Overlap>("86400");
  const [days, setDays] = useState("");
  const submit = async () => {
    const expiry = days === "" ? {} : { expiresSeconds: Number(days) * 86_400 };
    const request = { overlapSeconds: Number(overlap), ...expiry };
    onDone(await tell<RotateSecretAnswer>(`clients/${clientId}/rotate`, request));
  };
  return (
    <FormDialog
      title="Rotate the secret"
      text="The client gets a new secret. Tokens already issued stay valid."
      button="Make a new secret"
      onSubmit={submit}
      onClose={onClose}
    >
      <SelectField
        label="The current secret stays valid for"
        value={overlap}
        options={OVERLAPS}
        onChange={setOverlap}
      />
      <DaysField label="The new secret expires after days" days={days} onChange={setDays} />
    </FormDialog>
  );
}
