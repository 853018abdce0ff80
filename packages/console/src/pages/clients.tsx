import { type FormEvent, useState } from "react";
import { Link, useLocation } from "wouter";
import type {
  ClientItem,
  ClientLimits,
  ClientOptionsAnswer,
  CreateClientAnswer,
  PageOf,
} from "../contract.ts";
import { tell, useAnswer } from "../data/queries.ts";
import { readGrants, writeCount } from "../field/format.ts";
import { Button, LinkButton } from "../parts/button.tsx";
import { SecretDialog, useDeed } from "../parts/dialog.tsx";
import { AddressFilter, AreaField, InputField } from "../parts/field.tsx";
import { type Column, ListPage, useList } from "../parts/list.tsx";
import { Answered, Empty, Failure, Page } from "../parts/page.tsx";
import { Badge, Instant } from "../parts/values.tsx";
import { useFilters } from "../routing/filters.ts";

const COLUMNS: readonly Column<ClientItem>[] = [
  {
    head: "Client",
    lead: true,
    cell: ({ clientId, name }) => <Link to={`/clients/${clientId}`}>{name}</Link>,
  },
  { head: "Id", cell: ({ clientId }) => <span className="mono small break">{clientId}</span> },
  {
    head: "State",
    cell: ({ revokedAt }) => (revokedAt === null ? "live" : <Badge icon="off">revoked</Badge>),
  },
  { head: "Grants", end: true, cell: ({ grantTotal }) => writeCount(grantTotal) },
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
  const newClient = (
    <LinkButton kind="main" to="/clients/new">
      New client
    </LinkButton>
  );
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
          <Empty title="No client has this in its name or id" />
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

/** Limits as they are typed: empty follows the configuration. */
type TypedLimits = Readonly<Record<keyof ClientLimits, string>>;

const NO_LIMITS: TypedLimits = { requestRate: "", requestBurst: "", tokenBurst: "" };

export function typeLimits({ requestRate, requestBurst, tokenBurst }: ClientLimits): TypedLimits {
  const text = (value: number | null) => (value === null ? "" : String(value));
  return { requestRate: text(requestRate), requestBurst: text(requestBurst), tokenBurst: text(tokenBurst) };
}

export function readLimits({ requestRate, requestBurst, tokenBurst }: TypedLimits): ClientLimits {
  const number = (text: string) => (text.trim() === "" ? null : Number(text));
  return {
    requestRate: number(requestRate),
    requestBurst: number(requestBurst),
    tokenBurst: number(tokenBurst),
  };
}

const LIMITS: readonly (readonly [name: keyof ClientLimits, label: string])[] = [
  ["requestRate", "Requests a second"],
  ["requestBurst", "Burst of requests"],
  ["tokenBurst", "Burst of tokens"],
];

interface LimitFieldsProps {
  readonly limits: TypedLimits;
  readonly defaults: ClientOptionsAnswer["defaults"];
  readonly onChange: (limits: TypedLimits) => void;
}

export function LimitFields({ limits, defaults, onChange }: LimitFieldsProps) {
  return (
    <div className="side-by-side">
      {LIMITS.map(([name, label]) => (
        <InputField
          key={name}
          label={label}
          hint={`Empty: ${defaults[name]}, the configured default`}
          type="number"
          min={1}
          step={1}
          inputMode="numeric"
          value={limits[name]}
          onChange={(text) => onChange({ ...limits, [name]: text })}
        />
      ))}
    </div>
  );
}

interface ScopeFieldsProps {
  readonly known: readonly string[];
  readonly chosen: readonly string[];
  readonly onChange: (scopes: readonly string[]) => void;
}

export function ScopeFields({ known, chosen, onChange }: ScopeFieldsProps) {
  return (
    <fieldset className="field">
      <legend>Scopes</legend>
      <div className="checks">
        {known.map((scope) => (
          <label key={scope} className="check">
            <input
              type="checkbox"
              checked={chosen.includes(scope)}
              onChange={(event) =>
                onChange(event.target.checked ? [...chosen, scope] : chosen.filter((each) => each !== scope))
              }
            />
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
  const complaint =
    wrong.length === 0 ? undefined : `Not CLIENTCODE/PROPERTYCODE: ${wrong.slice(0, 3).join(", ")}`;
  return (
    <AreaField
      label={label}
      hint="One per line: CLIENTCODE/PROPERTYCODE, or CLIENTCODE/* for every hotel of the code."
      wrong={complaint}
      spellCheck={false}
      value={text}
      onChange={onChange}
    />
  );
}

interface DaysFieldProps {
  readonly label: string;
  readonly days: string;
  readonly onChange: (days: string) => void;
}

export function DaysField({ label, days, onChange }: DaysFieldProps) {
  return (
    <InputField
      label={label}
      hint="Empty: it does not expire."
      type="number"
      min={1}
      max={3650}
      value={days}
      onChange={onChange}
    />
  );
}
