import { type FormEvent, useState } from "react";
import { useLocation } from "wouter";
import type { ClientOptionsAnswer, CreateClientAnswer } from "../contract.ts";
import { tell } from "../data/call.ts";
import { useAnswer } from "../data/queries.ts";
import { readGrants } from "../field/grant-text.ts";
import { Button, LinkButton } from "../parts/button.tsx";
import {
  DaysField,
  GrantsField,
  LimitFields,
  NO_LIMITS,
  readLimits,
  ScopeFields,
} from "../parts/client-fields.tsx";
import { useDeed } from "../parts/deed.tsx";
import { SecretDialog } from "../parts/dialog.tsx";
import { InputField } from "../parts/field.tsx";
import { Page } from "../parts/page.tsx";
import { Answered, Failure } from "../parts/states.tsx";

/** A new client for a partner. */
export function NewClientPage() {
  const asked = useAnswer<ClientOptionsAnswer>("client-options");
  return (
    <Page
      title="New client"
      lead="Creates a client id and a secret for one partner."
      crumbs={[{ to: "/clients", text: "Clients" }]}
    >
      <Answered asked={asked}>{(options) => <NewClientForm options={options} />}</Answered>
    </Page>
  );
}

function NewClientForm({ options }: { readonly options: ClientOptionsAnswer }) {
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState(options.defaults.scopes);
  const [grantText, setGrantText] = useState("");
  const [limits, setLimits] = useState(NO_LIMITS);
  const [days, setDays] = useState("");
  const [created, setCreated] = useState<CreateClientAnswer>();
  const deed = useDeed();
  const [, go] = useLocation();
  const { grants, wrong } = readGrants(grantText);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (wrong.length > 0) return;
    deed.run(async () => {
      const request = {
        name,
        scopes,
        grants,
        ...readLimits(limits),
        ...(days === "" ? {} : { secretExpiresSeconds: Number(days) * 86_400 }),
      };
      setCreated(await tell<CreateClientAnswer>("clients", request));
    });
  };
  return (
    <>
      <Failure error={deed.error} />
      <form className="form" onSubmit={submit}>
        <InputField
          label="Name"
          hint="The name you know the partner by."
          required
          maxLength={128}
          value={name}
          onChange={setName}
        />
        <GrantsField
          label="Hotels it may push and read"
          text={grantText}
          wrong={wrong}
          onChange={setGrantText}
        />
        <ScopeFields known={options.knownScopes} chosen={scopes} onChange={setScopes} />
        <LimitFields limits={limits} defaults={options.defaults} onChange={setLimits} />
        <DaysField label="The secret expires after days" days={days} onChange={setDays} />
        <div className="form-actions">
          <Button type="submit" kind="main" busy={deed.busy}>
            Create the client
          </Button>
          <LinkButton to="/clients">Cancel</LinkButton>
        </div>
      </form>
      {created === undefined ? null : (
        <SecretDialog
          title="The client is created"
          clientId={created.clientId}
          secret={created.clientSecret}
          onClose={() => go(`/clients/${created.clientId}`)}
        />
      )}
    </>
  );
}
