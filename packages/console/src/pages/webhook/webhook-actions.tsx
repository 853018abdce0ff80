import { useState } from "react";
import { useLocation } from "wouter";
import type { WebhookAnswer, WebhookSecretAnswer } from "../../contract.ts";
import { tell } from "../../data/call.ts";
import { Button } from "../../parts/button.tsx";
import { useDeed } from "../../parts/deed.tsx";
import { FormDialog } from "../../parts/dialog.tsx";
import { Failure } from "../../parts/states.tsx";
import { WebhookSecretDialog } from "./webhook-secret.tsx";

/** What an operator can do with an endpoint. A new secret and a removal are confirmed first. */
export function WebhookActions({ webhook }: { readonly webhook: WebhookAnswer }) {
  const [asking, setAsking] = useState<"rotate" | "remove">();
  const [made, setMade] = useState<WebhookSecretAnswer>();
  const [, go] = useLocation();
  const deed = useDeed();
  const path = `webhooks/${webhook.endpointId}`;
  const verb = (name: string, done: string) => () => deed.run(() => tell(`${path}/${name}`, {}), done);
  const close = () => setAsking(undefined);
  const rotate = async () =>
    setMade(await tell<WebhookSecretAnswer>(`${path}/rotate`, { overlapSeconds: 86_400 }));
  return (
    <>
      <Failure error={deed.error} />
      <Button busy={deed.busy} onClick={verb("test", "A test message is on its way.")}>
        Send a test
      </Button>
      {webhook.state === "active" ? (
        <Button busy={deed.busy} onClick={verb("pause", "The endpoint is paused. Its messages wait.")}>
          Pause
        </Button>
      ) : (
        <Button busy={deed.busy} onClick={verb("resume", "The waiting messages are sent now.")}>
          {webhook.state === "paused" ? "Resume" : "Try now"}
        </Button>
      )}
      <Button onClick={() => setAsking("rotate")}>New secret …</Button>
      <Button kind="danger" onClick={() => setAsking("remove")}>
        Remove …
      </Button>
      {asking === "rotate" ? (
        <FormDialog
          title="Make a new secret?"
          text="For a day, messages are signed with both secrets, so that the partner can change over."
          button="Make a new secret"
          onSubmit={rotate}
          onClose={close}
        />
      ) : null}
      {asking === "remove" ? (
        <FormDialog
          title="Remove the endpoint?"
          text="Its waiting messages, dead letters and delivery log are removed with it."
          button="Remove"
          danger
          onSubmit={() => tell(`${path}/remove`, {}).then(() => go("/webhooks"))}
          onClose={close}
        />
      ) : null}
      {made === undefined ? null : <WebhookSecretDialog made={made} onClose={() => setMade(undefined)} />}
    </>
  );
}
