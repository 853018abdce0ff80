import { type FormEvent, useState } from "react";
import type { BackfillAnswer } from "../../contract.ts";
import { tell } from "../../data/call.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Field } from "../../parts/field.tsx";
import { Failure } from "../../parts/states.tsx";
import { useSay } from "../../parts/toast.tsx";
import { useDeed } from "../../parts/use-deed.ts";

export type BackfillDeed = "sign" | "abandon";

const WHY_CHARACTERS_MAX = 500;

interface BackfillDialogProps {
  readonly deed: BackfillDeed;
  readonly backfillId: string;
  /** Of the statement that is shown: no other is signed. */
  readonly hash: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Asks before a statement is signed, or a backfill abandoned. */
export function BackfillDialog({ deed, backfillId, hash, onClose, onDone }: BackfillDialogProps) {
  const [why, setWhy] = useState("");
  const doing = useDeed();
  const say = useSay();
  const isSigning = deed === "sign";
  const submit = (event: FormEvent) => {
    event.preventDefault();
    doing.run(async () => {
      const told = isSigning ? { hash } : { why: why.trim() };
      await tell<BackfillAnswer>(`backfills/${backfillId}/${deed}`, told);
      say(isSigning ? "The statement is signed by both sides." : "The backfill is abandoned.");
      onDone();
    });
  };
  return (
    <Dialog title={isSigning ? "Sign this statement?" : "Abandon this backfill?"} onClose={onClose}>
      <p className="muted">
        {isSigning
          ? "You stand by what it counts, and by what it says is missing. This cannot be undone."
          : "It takes no more batches and gets no statement. What it brought stays. This cannot be undone."}
      </p>
      <form className="stack" onSubmit={submit}>
        <Failure error={doing.error} />
        {isSigning ? (
          <code className="small break">{hash}</code>
        ) : (
          <Field label="Reason" hint="Kept in the audit with your name.">
            {(tied) => (
              <textarea
                {...tied}
                value={why}
                required
                maxLength={WHY_CHARACTERS_MAX}
                onChange={(event) => setWhy(event.target.value)}
              />
            )}
          </Field>
        )}
        <div className="form-actions">
          <Button type="submit" kind={isSigning ? "main" : "danger"} busy={doing.busy}>
            {isSigning ? "Sign" : "Abandon"}
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}
