import { useState } from "react";
import type {
  ClientCodesAnswer,
  MappingForesightAnswer,
  SettingItem,
  SettingName,
  SettingsAnswer,
  StatusesAnswer,
  StatusItem,
} from "../contract.ts";
import { addressOf, post, useAnswer, useCovers, useMay } from "../data/queries.ts";
import { writeCount, writeMany } from "../field/format.ts";
import { Button } from "../parts/button.tsx";
import { FormDialog, typed, useDeed } from "../parts/dialog.tsx";
import { AddressChoice, Choice, InputField, SelectField, TextFilter } from "../parts/field.tsx";
import { type Column, ExportButtons, figure, List, Table, useList } from "../parts/list.tsx";
import { Answered, Empty, Failure, Notice, Page, Section } from "../parts/page.tsx";
import { Badge, orDash } from "../parts/values.tsx";
import { useFilters } from "../routing/filters.ts";

export function SettingsPage() {
  const codes = useAnswer<ClientCodesAnswer>("client-codes");
  return (
    <Page
      title="Settings"
      lead="How reports are calculated. A property's value overrides its client code's. Changes apply immediately, including to past dates."
    >
      <Answered asked={codes}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="No client code yet">
              Settings belong to the codes that records name; none has come in.
            </Empty>
          ) : (
            <SettingsOf codes={items} />
          )
        }
      </Answered>
    </Page>
  );
}

function SettingsOf({ codes }: { codes: ClientCodesAnswer["items"] }) {
  const { filters, change } = useFilters();
  const clientCode = filters.get("clientCode") ?? codes[0]?.clientCode ?? "";
  const propertyCode = filters.get("propertyCode") ?? "";
  const known = codes.some((each) => each.clientCode === clientCode);
  const covers = useCovers();
  const options = codes.map((each) => {
    const text = `${each.clientCode} (${writeMany(each.properties, "property", "properties")})`;
    return [each.clientCode, text] as const;
  });
  return (
    <>
      <search className="filters">
        <SelectField
          label="Client code"
          wide
          value={clientCode}
          options={known ? options : [[clientCode, clientCode], ...options]}
          onChange={(next) => change({ clientCode: next, propertyCode: undefined })}
        />
        <TextFilter
          label="Property code"
          first
          placeholder="all"
          value={propertyCode}
          onChange={(next) => change({ clientCode, propertyCode: next }, "replace")}
        />
      </search>
      <SettingsTable clientCode={clientCode} propertyCode={propertyCode} />
      {covers(clientCode) && <StatusMappings key={clientCode} clientCode={clientCode} />}
    </>
  );
}

function Value({ setting: { name, value } }: { setting: SettingItem }) {
  if (value === null) return <span className="muted">not set</span>;
  if (name === "weekend") return value.replaceAll(",", ", ");
  return name.startsWith("cadence.") && value !== "none" ? `${value} h` : value;
}

function SettingsTable({ clientCode, propertyCode }: { clientCode: string; propertyCode: string }) {
  const asked = useAnswer<SettingsAnswer>(addressOf("settings", { clientCode, propertyCode }));
  const [changing, setChanging] = useState<SettingItem>();
  const covers = useCovers();
  const mayChange = useMay()("change-settings") && covers(clientCode, propertyCode || "*");
  const of = propertyCode === "" ? clientCode : `${clientCode} / ${propertyCode}`;
  return (
    <Section title={`Settings of ${of}`}>
      <Answered asked={asked} lines={7}>
        {({ settings }) => (
          <Table
            caption={`Settings of ${of}`}
            rows={settings}
            keyOf={({ name }) => name}
            columns={[
              { head: "Setting", lead: true, cell: ({ name }) => <Described setting={name} /> },
              { head: "Value", cell: (setting) => <Value setting={setting} /> },
              {
                head: "From",
                cell: ({ from }) =>
                  from === "default" ? (
                    <span className="muted">default</span>
                  ) : (
                    <Badge tone="accent">{from}</Badge>
                  ),
              },
              {
                head: "Change",
                end: true,
                action: true,
                cell: (setting) =>
                  mayChange && (
                    <Button
                      kind="quiet"
                      aria-label={`Change ${describeSetting(setting.name).title}`}
                      onClick={() => setChanging(setting)}
                    >
                      Change…
                    </Button>
                  ),
              },
            ]}
          />
        )}
      </Answered>
      {changing !== undefined && (
        <ChangeSettingDialog
          setting={changing}
          clientCode={clientCode}
          propertyCode={propertyCode}
          onClose={() => setChanging(undefined)}
        />
      )}
    </Section>
  );
}

interface SettingWords {
  readonly title: string;
  readonly hint: string;
}

const WORDS: Readonly<Record<SettingName, SettingWords>> = {
  name: { title: "Name", hint: "What the property is called in the portfolio." },
  city: { title: "City", hint: "The portfolio is filtered by it." },
  occupancyBase: { title: "Occupancy base", hint: "The rooms that occupancy and RevPAR are divided by." },
  timeZone: {
    title: "Time zone",
    hint: "IANA name, such as Europe/Lisbon. Times of its pages can be shown in it.",
  },
  businessDayEnd: { title: "End of the business day", hint: "HH:MM, in the property's time zone." },
  groupHierarchy: {
    title: "Group hierarchy",
    hint: "included: blocks of subgroups are part of their master's; separate: they come on top.",
  },
  weekend: { title: "Weekend", hint: "Days that are tinted, such as Fri,Sat; or none." },
  currency: { title: "Currency", hint: "ISO 4217; shown where records name none." },
  negativeCounts: {
    title: "Negative counts",
    hint: "warn, quarantine or refuse records with a count below zero.",
  },
  personalData: { title: "Guest names", hint: "keep, or strip: hashed when received." },
  "cadence.inventories": { title: "Inventories expected every", hint: "Hours between batches." },
  "cadence.reservations": { title: "Reservations expected every", hint: "Hours between batches." },
  "cadence.groups": { title: "Groups expected every", hint: "Hours between batches." },
};

function describeSetting(name: SettingName): SettingWords {
  return WORDS[name] ?? { title: name, hint: "" };
}

function Described({ setting }: { setting: SettingName }) {
  const { title, hint } = describeSetting(setting);
  return (
    <>
      {title}
      <span className="sub">{hint}</span>
    </>
  );
}

interface ChangeSettingDialogProps {
  readonly setting: SettingItem;
  readonly clientCode: string;
  /** Empty: the whole client code. */
  readonly propertyCode: string;
  readonly onClose: () => void;
}

function ChangeSettingDialog({ setting, clientCode, propertyCode, onClose }: ChangeSettingDialogProps) {
  const { name, from } = setting;
  const { title, hint } = describeSetting(name);
  const codes = propertyCode === "" ? { clientCode } : { clientCode, propertyCode };
  const of = propertyCode === "" ? `all properties of ${clientCode}` : `${clientCode} / ${propertyCode}`;
  const isOwn = from === (propertyCode === "" ? "client" : "property");
  const done = `${title} is changed.`;
  const unset = () => post("settings/unset", { ...codes, name }).then(onClose);
  const field = { name: "value", defaultValue: setting.value ?? "" };
  return (
    <FormDialog
      title={title}
      text={`For ${of}.`}
      button="Save"
      done={done}
      onSubmit={(form) => post("settings/set", { ...codes, name, value: typed(form, "value") })}
      onClose={onClose}
      actions={({ busy, run }) =>
        isOwn ? (
          <Button busy={busy} onClick={() => run(unset, done)}>
            Reset
          </Button>
        ) : null
      }
    >
      {name === "occupancyBase" ? (
        <SelectField
          {...field}
          label={hint}
          options={{ capacity: "capacity: every room", available: "available: capacity less out of order" }}
        />
      ) : (
        <InputField {...field} label="Value" hint={hint} required autoComplete="off" />
      )}
    </FormDialog>
  );
}

function StatusMappings({ clientCode }: { clientCode: string }) {
  const by = useFilters().filters.get("statuses") === "unmapped" ? "unmapped" : undefined;
  const asked = useList<StatusesAnswer>("statuses", { clientCode, by });
  const deed = useDeed();
  const mayChange = useMay()("change-settings");
  const [change, setChange] = useState<MappingChange>();
  const [done, setDone] = useState<MappingChange>();
  /** Restores the previous mapping as a new change. */
  const undo = async ({ item }: MappingChange) => {
    await changeMapping(clientCode, { item, to: item.by === "mapping" ? item.deducts : undefined });
    setDone(undefined);
  };
  return (
    <Section
      title={`Status mappings of ${clientCode}`}
      aside={
        <div className="badges">
          <p>A mapping decides whether reservations with a status count on the books.</p>
          <ExportButtons
            name={`status-mappings-${clientCode}`}
            of={asked.whole}
            csv="status resource records canonical by deducts"
          />
        </div>
      }
    >
      <Failure error={deed.error} />
      {done !== undefined && (
        <Notice
          title={`${done.item.status}: ${writeMeaning(done.to)}`}
          action={
            <Button
              busy={deed.busy}
              onClick={() => deed.run(() => undo(done), `${done.item.status}: undone.`)}
            >
              Undo
            </Button>
          }
        />
      )}
      {asked.data !== undefined && <UnmappedNotice {...asked.data.unmapped} />}
      <search className="filters">
        <AddressChoice name="statuses" label="Statuses" options={{ all: "All", unmapped: "Unmapped" }} />
      </search>
      <List
        asked={asked}
        caption={`Status mappings of ${clientCode}`}
        columns={columnsOf(mayChange, setChange)}
        keyOf={({ resource, status }) => `${resource} ${status}`}
        noun={["status", "statuses"]}
        empty={<Empty title={by === undefined ? "No record has a status yet" : "Every status is mapped"} />}
        lines={6}
      />
      {change !== undefined && (
        <MappingDialog
          clientCode={clientCode}
          change={change}
          onDone={() => setDone(change)}
          onClose={() => setChange(undefined)}
        />
      )}
    </Section>
  );
}

function UnmappedNotice({ statuses, records }: StatusesAnswer["unmapped"]) {
  if (statuses === 0) return null;
  return (
    <Notice tone="warn" title={`${writeMany(statuses, "status is", "statuses are")} not mapped`}>
      {writeMany(records, "record")} under {statuses === 1 ? "it" : "them"} {records === 1 ? "is" : "are"} not
      on the books until you map {statuses === 1 ? "it" : "them"}.
    </Notice>
  );
}

/** Undefined: the default. */
type Meaning = boolean | undefined;

interface MappingChange {
  readonly item: StatusItem;
  readonly to: Meaning;
}

const writeMeaning = (to: Meaning) =>
  to === undefined ? "reset" : to ? "counted on the books" : "not counted on the books";

function changeMapping(
  clientCode: string,
  { item: { resource, status }, to }: MappingChange,
): Promise<unknown> {
  const of = { clientCode, resource, status };
  return to === undefined ? post("statuses/unset", of) : post("statuses/set", { ...of, deducts: to });
}

interface MappingDialogProps {
  readonly clientCode: string;
  readonly change: MappingChange;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Previews the effect of a change. */
function MappingDialog({ clientCode, change, onDone, onClose }: MappingDialogProps) {
  const { resource, status } = change.item;
  const asked = useAnswer<MappingForesightAnswer>(
    addressOf("statuses/foresee", { clientCode, resource, status }),
  );
  return (
    <FormDialog
      title={change.to === undefined ? `Reset ${status}?` : `Map ${status} as ${writeMeaning(change.to)}?`}
      button={change.to === undefined ? "Reset" : "Map"}
      ready={asked.data !== undefined}
      done={`${status}: ${writeMeaning(change.to)}.`}
      onSubmit={() => changeMapping(clientCode, change).then(onDone)}
      onClose={onClose}
    >
      <Answered asked={asked} lines={2}>
        {({ records, properties, nights, isCut }) => (
          <p>
            This concerns {isCut && "more than "}
            <strong>{writeMany(records, resource === "groups" ? "group" : "reservation")}</strong> of{" "}
            {writeMany(properties, "property", "properties")}, on {isCut && "at least "}
            <strong>{writeMany(nights, "night")}</strong>, those in the past too. You can undo it.
          </p>
        )}
      </Answered>
    </FormDialog>
  );
}

function columnsOf(
  mayChange: boolean,
  onChange: (change: MappingChange) => void,
): readonly Column<StatusItem>[] {
  return [
    { head: "Status", lead: true, cell: ({ status }) => <span className="break">{status}</span> },
    { head: "Resource", cell: ({ resource }) => resource },
    figure("Current records", ({ records }) => records, writeCount),
    { head: "Standard status", cell: ({ canonical }) => orDash(canonical) },
    { head: "Set by", cell: ({ by }) => <SetBy by={by} /> },
    {
      head: "Counts on the books",
      cell: (item) => {
        const value = item.by === "unmapped" ? "" : item.deducts ? "yes" : "no";
        if (!mayChange) return value;
        return (
          <Choice
            label={`Whether ${item.status} counts on the books`}
            hideLabel
            value={value}
            options={{ yes: "Yes", no: "No" }}
            onChange={(next) => onChange({ item, to: next === "yes" })}
          />
        );
      },
    },
    {
      head: "Change",
      end: true,
      action: true,
      cell: (item) =>
        mayChange && item.by === "mapping" ? (
          <Button kind="quiet" onClick={() => onChange({ item, to: undefined })}>
            Reset
          </Button>
        ) : null,
    },
  ];
}

function SetBy({ by }: { by: StatusItem["by"] }) {
  if (by === "unmapped") return <Badge tone="warn">unmapped</Badge>;
  return by === "mapping" ? <Badge tone="accent">mapping</Badge> : <span className="muted">default</span>;
}
