import { type FormEvent, useState } from "react";
import type { RotateSecretAnswer } from "../../contract.ts";
import { tell } from "../../data/call.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Field, SelectField } from "../../parts/field.tsx";
import { Failure } from "../../parts/states.tsx";
import { useDeed } from "../../parts/use-deed.ts";

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
  const deed = useDeed();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    deed.run(async () => {
      const request = {
        overlapSeconds: Number(overlap),
        ...(days === "" ? {} : { expiresSeconds: Number(days) * 86_400 }),
      };
      onDone(await tell<RotateSecretAnswer>(`clients/${clientId}/rotate`, request));
    });
  };
  return (
    <Dialog title="Rotate the secret" onClose={onClose}>
      <p className="muted">A new secret is made. Tokens that are out stay good.</p>
      <form className="stack" onSubmit={submit}>
        <Failure error={deed.error} />
        <SelectField
          label="The one until now stays good for"
          value={overlap}
          options={OVERLAPS}
          onChange={setOverlap}
        />
        <Field label="The new one ends after so many days" hint="Empty: it does not end by itself.">
          {(tied) => (
            <input
              {...tied}
              type="number"
              min={1}
              max={3650}
              value={days}
              onChange={(event) => setDays(event.target.value)}
            />
          )}
        </Field>
        <div className="form-actions">
          <Button type="submit" kind="main" busy={deed.busy}>
            Make a new secret
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}
