import { type FormEvent, useState } from "react";
import { Link } from "wouter";
import type { QuarantineAnswer, ResolveAnswer } from "../contract.ts";
import { tell } from "../data/call.ts";
import { useAnswer } from "../data/queries.ts";
import { shortId } from "../field/short-id.ts";
import { Badge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Field } from "../parts/field.tsx";
import { Facts } from "../parts/figures.tsx";
import { Instant } from "../parts/instant.tsx";
import { Page, Section } from "../parts/page.tsx";
import { PayloadView } from "../parts/payload-view.tsx";
import { PropertyLink } from "../parts/property-link.tsx";
import { Answered, Failure, Notice } from "../parts/states.tsx";
import { useSay } from "../parts/toast.tsx";
import { useDeed } from "../parts/use-deed.ts";

type Decision = "release" | "discard";
const REASON_CHARACTERS_MAX = 500;
const RENEWED_MS = 500;

/** One held record: why it is held, what was sent, and the decision. */
export function HeldRecordPage({
  params,
}: {
  readonly params: { readonly requestId: string; readonly index: string };
}) {
  const { requestId, index } = params;
  const [deciding, setDeciding] = useState<Decision>();
  // A decision takes effect within moments; until then it is looked for again.
  const [decided, setDecided] = useState(false);
  const asked = useAnswer<QuarantineAnswer>(`quarantine/${requestId}/${index}`, {
    againMs: (answer) => (decided && answer?.state === "held" ? RENEWED_MS : undefined),
  });
  const isHeld = asked.data?.state === "held" && !decided;
  return (
    <Page
      title={asked.data?.key ?? `Record ${index}`}
      crumbs={[{ to: "/quarantine", text: "Quarantine" }]}
      actions={
        isHeld ? (
          <>
            <Button kind="main" onClick={() => setDeciding("release")}>
              Release …
            </Button>
            <Button kind="danger" onClick={() => setDeciding("discard")}>
              Discard …
            </Button>
          </>
        ) : undefined
      }
    >
      <Answered asked={asked} lines={10}>
        {(answer) => <HeldRecord answer={answer} />}
      </Answered>
      {deciding === undefined ? null : (
        <DecisionDialog
          decision={deciding}
          path={`quarantine/${requestId}/${index}/${deciding}`}
          onClose={() => setDeciding(undefined)}
          onDone={() => {
            setDeciding(undefined);
            setDecided(true);
            asked.refetch();
          }}
        />
      )}
    </Page>
  );
}

function HeldRecord({ answer }: { readonly answer: QuarantineAnswer }) {
  return (
    <>
      {answer.state === "held" ? (
        <Notice tone="warn" title={answer.message}>
          <code className="small">{answer.code}</code>
        </Notice>
      ) : (
        <Notice
          title={
            answer.state === "released"
              ? "Released: it was applied as it was sent"
              : "Discarded: it is kept, and never applied"
          }
        >
          It had been held because: {answer.message}
        </Notice>
      )}
      <Facts
        facts={[
          [
            "State",
            <Badge key="state" tone={answer.state === "held" ? "warn" : "plain"}>
              {answer.state}
            </Badge>,
          ],
          ["Received", <Instant key="received" at={answer.receivedAt} />],
          ...(answer.resolvedAt === null
            ? []
            : ([["Decided", <Instant key="resolved" at={answer.resolvedAt} />]] as const)),
          ["Resource", answer.resource],
          [
            "Property",
            <PropertyLink key="property" clientCode={answer.clientCode} propertyCode={answer.propertyCode} />,
          ],
          [
            "Request",
            <Link key="request" to={`/requests/${answer.requestId}`}>
              {shortId(answer.requestId)}
            </Link>,
          ],
          ["Place in the batch", answer.index],
        ]}
      />
      <Section title="As it was sent">
        <PayloadView payload={answer.payload} />
      </Section>
    </>
  );
}

const WORDS: Readonly<Record<Decision, { title: string; what: string; button: string; done: string }>> = {
  release: {
    title: "Release this record?",
    what: "It is applied as it was sent, and takes its place in the history by its source time. This cannot be undone.",
    button: "Release",
    done: "The record is released.",
  },
  discard: {
    title: "Discard this record?",
    what: "It is never applied. The log keeps it, and its request says that it was discarded. This cannot be undone.",
    button: "Discard",
    done: "The record is discarded.",
  },
};

interface DecisionDialogProps {
  readonly decision: Decision;
  readonly path: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function DecisionDialog({ decision, path, onClose, onDone }: DecisionDialogProps) {
  const [reason, setReason] = useState("");
  const deed = useDeed();
  const say = useSay();
  const words = WORDS[decision];
  const submit = (event: FormEvent) => {
    event.preventDefault();
    deed.run(async () => {
      await tell<ResolveAnswer>(path, reason.trim() === "" ? {} : { reason: reason.trim() });
      say(words.done);
      onDone();
    });
  };
  return (
    <Dialog title={words.title} onClose={onClose}>
      <p className="muted">{words.what}</p>
      <form className="stack" onSubmit={submit}>
        <Failure error={deed.error} />
        <Field
          label={decision === "discard" ? "Reason" : "Reason (optional)"}
          hint="Kept in the audit with your name."
        >
          {(tied) => (
            <textarea
              {...tied}
              value={reason}
              required={decision === "discard"}
              maxLength={REASON_CHARACTERS_MAX}
              onChange={(event) => setReason(event.target.value)}
            />
          )}
        </Field>
        <div className="form-actions">
          <Button type="submit" kind={decision === "discard" ? "danger" : "main"} busy={deed.busy}>
            {words.button}
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}
