import { useState } from "react";
import type { ClientCodesAnswer, SettingItem, SettingsAnswer } from "../contract.ts";
import { addressOf } from "../data/call.ts";
import { useAnswer } from "../data/queries.ts";
import { writeMany } from "../field/format.ts";
import { Button } from "../parts/button.tsx";
import { SelectField, TextFilter } from "../parts/field.tsx";
import { Page, Section } from "../parts/page.tsx";
import { Answered, Empty } from "../parts/states.tsx";
import { Table } from "../parts/table.tsx";
import { Badge } from "../parts/values.tsx";
import { useFilters } from "../routing/filters.ts";
import { ChangeSettingDialog, describeSetting } from "./settings/change-setting.tsx";
import { Labels } from "./settings/labels.tsx";

/** What insights go by, for a client code or one of its properties, and what its status labels mean. */
export function SettingsPage() {
  const codes = useAnswer<ClientCodesAnswer>("client-codes");
  return (
    <Page
      title="Settings"
      lead="What insights go by. A property's own value comes before its client code's, and that before the default. It holds at once for all nights, past ones too."
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

function SettingsOf({ codes }: { readonly codes: ClientCodesAnswer["items"] }) {
  const { filters, change } = useFilters();
  const clientCode = filters.get("clientCode") ?? codes[0]?.clientCode ?? "";
  const propertyCode = filters.get("propertyCode") ?? "";
  const known = codes.some((each) => each.clientCode === clientCode);
  const options = codes.map((each) => {
    const text = `${each.clientCode} (${writeMany(each.properties, "property", "properties")})`;
    return [each.clientCode, text] as const;
  });
  return (
    <>
      <search className="filters">
        <SelectField
          label="Client code"
          value={clientCode}
          options={known ? options : [[clientCode, clientCode], ...options]}
          onChange={(next) => change({ clientCode: next, propertyCode: undefined })}
        />
        <TextFilter
          label="Property code"
          first
          placeholder="all of them"
          value={propertyCode}
          onChange={(next) => change({ clientCode, propertyCode: next }, "replace")}
        />
      </search>
      <SettingsTable clientCode={clientCode} propertyCode={propertyCode} />
      <Labels clientCode={clientCode} />
    </>
  );
}

function Value({ setting: { name, value } }: { readonly setting: SettingItem }) {
  if (value === null) return <span className="muted">not set</span>;
  return name.startsWith("cadence.") && value !== "none" ? `${value} h` : value;
}

interface SettingsTableProps {
  readonly clientCode: string;
  readonly propertyCode: string;
}

function SettingsTable({ clientCode, propertyCode }: SettingsTableProps) {
  const asked = useAnswer<SettingsAnswer>(addressOf("settings", { clientCode, propertyCode }));
  const [changing, setChanging] = useState<SettingItem>();
  const of = propertyCode === "" ? clientCode : `${clientCode} / ${propertyCode}`;
  const version = asked.data?.settingsVersion;
  return (
    <Section
      title={`Settings of ${of}`}
      aside={version === undefined ? undefined : <p>settings version {version}</p>}
    >
      <Answered asked={asked} lines={7}>
        {({ settings }) => (
          <Table
            caption={`Settings of ${of}`}
            rows={settings}
            keyOf={({ name }) => name}
            columns={[
              { head: "Setting", lead: true, cell: ({ name }) => describeSetting(name).title },
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
                cell: (setting) => (
                  <Button
                    kind="quiet"
                    aria-label={`Change ${describeSetting(setting.name).title}`}
                    onClick={() => setChanging(setting)}
                  >
                    Change …
                  </Button>
                ),
              },
            ]}
          />
        )}
      </Answered>
      {changing === undefined ? null : (
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
