import { useState } from "react";
import type { BackfillAnswer } from "../../contract.ts";
import { tell } from "../../data/call.ts";
import { FormDialog } from "../../parts/dialog.tsx";
import { AreaField } from "../../parts/field.tsx";

export type BackfillDeed = "sign" | "abandon";

const WHY_CHARACTERS_MAX = 500;

interface BackfillDialogProps {
  readonly deed: BackfillDeed;
  readonly backfillId: string;
  /** Of the statement that is shown: no other is signed. */
  readonly hash: string;
  readonly onClose: () => void;
}

/** Asks before a statement is signed, or a backfill abandoned. */
export function BackfillDialog({ deed, backfillId, hash, onClose }: BackfillDialogProps) {
  const [why, setWhy] = useState("");
  const send = (body: object) => tell<BackfillAnswer>(`backfills/${backfillId}/${deed}`, body);
  if (deed === "sign")
    return (
      <FormDialog
        title="Sign this statement?"
        text="You confirm its counts and its list of missing records. This cannot be undone."
        button="Sign"
        done="Both sides have signed the statement."
        onSubmit={() => send({ hash })}
        onClose={onClose}
      >
        <code className="small break">{hash}</code>
      </FormDialog>
    );
  return (
    <FormDialog
      title="Abandon this backfill?"
      text="It accepts no more batches and gets no statement. Its records stay. This cannot be undone."
      button="Abandon"
      danger
      done="The backfill is abandoned."
      onSubmit={() => send({ why: why.trim() })}
      onClose={onClose}
    >
      <AreaField
        label="Reason"
        hint="Kept in the audit with your name."
        required
        maxLength={WHY_CHARACTERS_MAX}
        value={why}
        onChange={setWhy}
      />
    </FormDialog>
  );
}
