import { useState } from "react";
import type { WebhookAnswer, WebhookSecretAnswer } from "../../contract.ts";
import { tell } from "../../data/call.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Failure } from "../../parts/states.tsx";
import { useSay } from "../../parts/toast.tsx";
import { useDeed } from "../../parts/use-deed.ts";
import { WebhookSecretDialog } from "./webhook-secret.tsx";

interface WebhookActionsProps {
  readonly webhook: WebhookAnswer;
  readonly onDone: () => void;
  readonly onRemoved: () => void;
}

interface Asking {
  readonly title: string;
  readonly text: string;
  readonly button: string;
  readonly work: () => Promise<void>;
}

/** What can be done with an endpoint. What ends something is asked for once more. */
export function WebhookActions({ webhook, onDone, onRemoved }: WebhookActionsProps) {
  const [asking, setAsking] = useState<Asking>();
  const [made, setMade] = useState<WebhookSecretAnswer>();
  const deed = useDeed();
  const say = useSay();
  const path = `webhooks/${webhook.endpointId}`;
  const verb = (name: string, said: string) => () =>
    deed.run(async () => {
      await tell<WebhookAnswer>(`${path}/${name}`, {});
      say(said);
      onDone();
    });
  const rotate: Asking = {
    title: "Make a new secret?",
    text: "For a day messages are signed with both, so that nothing is refused meanwhile.",
    button: "Make a new secret",
    async work() {
      const request = { overlapSeconds: 86_400 };
      setMade(await tell<WebhookSecretAnswer>(`${path}/rotate`, request));
    },
  };
  const remove: Asking = {
    title: "Remove the endpoint?",
    text: "What waits for it, its dead letters and its delivery log go with it.",
    button: "Remove",
    async work() {
      await tell(`${path}/remove`, {});
      onRemoved();
    },
  };
  return (
    <>
      {deed.error === null || asking !== undefined ? null : <Failure error={deed.error} />}
      <Button busy={deed.busy} onClick={verb("test", "A test is on its way.")}>
        Send a test
      </Button>
      {webhook.state === "active" ? (
        <Button busy={deed.busy} onClick={verb("pause", "Paused: what it would be told waits.")}>
          Pause
        </Button>
      ) : (
        <Button busy={deed.busy} onClick={verb("resume", "What waits is tried now.")}>
          {webhook.state === "paused" ? "Resume" : "Try now"}
        </Button>
      )}
      <Button onClick={() => setAsking(rotate)}>New secret …</Button>
      <Button kind="danger" onClick={() => setAsking(remove)}>
        Remove …
      </Button>
      {asking === undefined ? null : (
        <Dialog title={asking.title} onClose={() => setAsking(undefined)}>
          <p className="muted">{asking.text}</p>
          <Failure error={deed.error} />
          <div className="form-actions">
            <Button
              kind={asking === remove ? "danger" : "main"}
              busy={deed.busy}
              onClick={() =>
                deed.run(async () => {
                  await asking.work();
                  setAsking(undefined);
                })
              }
            >
              {asking.button}
            </Button>
            <Button onClick={() => setAsking(undefined)}>Cancel</Button>
          </div>
        </Dialog>
      )}
      {made === undefined ? null : <WebhookSecretDialog made={made} onClose={() => setMade(undefined)} />}
    </>
  );
}
