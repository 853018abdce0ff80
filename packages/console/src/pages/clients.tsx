import { useState } from "react";
import { Link, useLocation } from "wouter";
import type {
  ClientItem,
  ClientLimits,
  ClientOptionsAnswer,
  CreateClientAnswer,
  NullReading,
  PageOf,
} from "../contract.ts";
import { addressOf, post, useAnswer, useCovers, useMay } from "../data/queries.ts";
import { readGrants, writeCount } from "../field/format.ts";
import { LinkButton } from "../parts/button.tsx";
import { Form, SecretDialog, typed } from "../parts/dialog.tsx";
import { AddressFilter, AddressSelect, AreaField, InputField, SelectField } from "../parts/field.tsx";
import { type Column, figure, ListPage, useList } from "../parts/list.tsx";
import { Answered, Empty, Page } from "../parts/page.tsx";
import { Badge, Instant, Word } from "../parts/values.tsx";
import { useFilters } from "../routing/filters.ts";

const COLUMNS: readonly Column<ClientItem>[] = [
  {
    head: "Client",
    lead: true,
    cell: ({ clientId, name }) => <Link to={`/clients/${clientId}`}>{name}</Link>,
  },
  { head: "Id", cell: ({ clientId }) => <Word mono>{clientId}</Word> },
  {
    head: "State",
    cell: ({ revokedAt }) => (revokedAt === null ? "live" : <Badge icon="off">revoked</Badge>),
  },
  figure("Grants", ({ grantTotal }) => grantTotal, writeCount),
  {
    head: "Requests/s",
    end: true,
    cell: ({ requestRate }) =>
      requestRate === null ? <span className="muted">default</span> : writeCount(requestRate),
  },
  { head: "Last used", cell: ({ lastUsedAt }) => <Instant at={lastUsedAt} as="ago" /> },
  { head: "Created", cell: ({ createdAt }) => <Instant at={createdAt} /> },
];

export function ClientsPage() {
  const { filters } = useFilters();
  const newClient = useMay()("manage-clients") ? (
    <LinkButton kind="main" to="/clients/new">
      New client
    </LinkButton>
  ) : null;
  return (
    <ListPage
      title="Clients"
      lead="The partners' OAuth clients: which hotels each may push and read, and its rate limits."
      actions={newClient}
      asked={useList<PageOf<ClientItem>>("clients", { search: filters.get("search") ?? "" })}
      filters={<AddressFilter name="search" label="Part of a name or id" first wide />}
      caption="Clients, oldest first"
      columns={COLUMNS}
      keyOf={({ clientId }) => clientId}
      noun={["client"]}
      empty={
        filters.size > 0 ? (
          <Empty title="No client matches" />
        ) : (
          <Empty title="No clients yet" actions={newClient}>
            A partner needs a client id and a secret to send batches.
          </Empty>
        )
      }
      csv="clientId name scopes grants requestRate requestBurst tokenBurst createdAt lastUsedAt revokedAt"
      csvRow={(item) => ({ ...item, grants: item.grantTotal })}
    />
  );
}

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

function NewClientForm({ options }: { options: ClientOptionsAnswer }) {
  const [grantText, setGrantText] = useState("");
  const [created, setCreated] = useState<CreateClientAnswer>();
  const [, go] = useLocation();
  const { grants, wrong } = readGrants(grantText);
  const submit = async (form: FormData) => {
    const request = { ...readClient(form), grants, secretExpiresSeconds: readDays(form) };
    setCreated(await post<CreateClientAnswer>("clients", request));
  };
  return (
    <>
      <Form
        button="Create the client"
        ready={wrong.length === 0}
        onSubmit={submit}
        actions={() => <LinkButton to="/clients">Cancel</LinkButton>}
      >
        <NameField hint="How you refer to the partner." />
        <GrantsField
          label="Hotels it may push and read"
          text={grantText}
          wrong={wrong}
          onChange={setGrantText}
        />
        <ScopeFields known={options.knownScopes} chosen={options.defaults.scopes} />
        <NullsField chosen="specified" />
        <LimitFields defaults={options.defaults} />
        <DaysField label="The secret expires after days" />
      </Form>
      {created !== undefined && (
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

const LIMITS: readonly (readonly [name: keyof ClientLimits, label: string])[] = [
  ["requestRate", "Requests a second"],
  ["requestBurst", "Burst of requests"],
  ["tokenBurst", "Burst of tokens"],
];

export const NULL_READINGS: Readonly<Record<NullReading, string>> = {
  specified: "Refused, except where the specification shows it",
  absent: "Read as if the field were omitted",
};

export function NullsField({ chosen }: { chosen: NullReading }) {
  return (
    <SelectField
      name="nulls"
      label="Null in optional fields"
      options={Object.entries(NULL_READINGS)}
      defaultValue={chosen}
    />
  );
}

/** Name, scopes, the reading of null and the limits of the form; an empty limit follows the configuration. */
export function readClient(form: FormData) {
  const limits = LIMITS.filter(([name]) => form.has(name)).map(([name]) => [
    name,
    form.get(name) === "" ? null : Number(form.get(name)),
  ]);
  const nulls = form.get("nulls");
  return { name: typed(form, "name"), scopes: form.getAll("scopes"), nulls, ...Object.fromEntries(limits) };
}

export function readDays(form: FormData): number | undefined {
  const days = typed(form, "days");
  return days === "" ? undefined : Number(days) * 86_400;
}

export function NameField(props: { hint?: string; defaultValue?: string }) {
  return <InputField {...props} name="name" label="Name" required maxLength={128} />;
}

/** The clients to choose from. If there are more than a list shows, the id is typed instead. */
function useClients(): { readonly clients: readonly ClientItem[]; readonly isTyped: boolean } {
  const { data } = useAnswer<PageOf<ClientItem>>(addressOf("clients", { limit: 1_000 }));
  return { clients: data?.items ?? [], isTyped: data !== undefined && data.nextCursor !== null };
}

const optionOf = ({ clientId, name }: ClientItem) => [clientId, `${name} (${clientId})`] as const;

/** Selects a client that is not revoked. */
export function ClientField({ chosen }: { chosen: string }) {
  const { clients, isTyped } = useClients();
  if (isTyped)
    return <InputField name="clientId" label="Client id" required autoComplete="off" defaultValue={chosen} />;
  const live = clients.filter(({ revokedAt }) => revokedAt === null);
  return (
    <SelectField
      // Rendered again when options arrive, to apply the selection.
      key={live.length}
      name="clientId"
      label="Client"
      options={[["", "Choose a client"], ...live.map(optionOf)]}
      defaultValue={chosen}
      required
    />
  );
}

export function ClientFilter() {
  const { clients, isTyped } = useClients();
  if (isTyped) return <AddressFilter name="clientId" label="Client id" />;
  return <AddressSelect name="clientId" label="Client" options={[["", "Any"], ...clients.map(optionOf)]} />;
}

interface LimitFieldsProps {
  readonly limits?: ClientLimits;
  readonly defaults: ClientOptionsAnswer["defaults"];
}

/** Only an admin of all properties can set rates. */
export function LimitFields({ limits, defaults }: LimitFieldsProps) {
  if (!useCovers()("*")) return null;
  return (
    <div className="side-by-side">
      {LIMITS.map(([name, label]) => (
        <InputField
          key={name}
          name={name}
          label={label}
          hint={`Empty: ${defaults[name]}, the configured default`}
          type="number"
          min={1}
          step={1}
          inputMode="numeric"
          defaultValue={limits?.[name] ?? ""}
        />
      ))}
    </div>
  );
}

export function ScopeFields({ known, chosen }: { known: readonly string[]; chosen: readonly string[] }) {
  return (
    <fieldset className="field">
      <legend>Scopes</legend>
      <div className="checks">
        {known.map((scope) => (
          <label key={scope} className="check">
            <input type="checkbox" name="scopes" value={scope} defaultChecked={chosen.includes(scope)} />
            {scope}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

interface GrantsFieldProps {
  readonly label: string;
  readonly text: string;
  readonly wrong: readonly string[];
  readonly onChange: (text: string) => void;
}

export function GrantsField({ label, text, wrong, onChange }: GrantsFieldProps) {
  return (
    <AreaField
      label={label}
      hint="One per line: CLIENTCODE/PROPERTYCODE, or CLIENTCODE/* for every hotel of the code."
      wrong={wrong.length === 0 ? undefined : `Not CLIENTCODE/PROPERTYCODE: ${wrong.slice(0, 3).join(", ")}`}
      spellCheck={false}
      value={text}
      onChange={onChange}
    />
  );
}

export function DaysField({ label }: { label: string }) {
  return (
    <InputField
      name="days"
      label={label}
      hint="Empty: it does not expire."
      type="number"
      min={1}
      max={3650}
    />
  );
}
