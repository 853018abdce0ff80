import { useState } from "react";
import type { SettingItem, SettingName } from "../../contract.ts";
import { tell } from "../../data/call.ts";
import { Button } from "../../parts/button.tsx";
import { FormDialog } from "../../parts/dialog.tsx";
import { InputField, SelectField } from "../../parts/field.tsx";

interface SettingWords {
  readonly title: string;
  readonly hint: string;
}

const WORDS: Readonly<Record<SettingName, SettingWords>> = {
  occupancyBase: { title: "Occupancy base", hint: "What occupancy and RevPAR are a share of." },
  timeZone: { title: "Time zone", hint: "IANA name, such as Europe/Lisbon." },
  businessDayEnd: { title: "End of the business day", hint: "HH:MM, in the property's time zone." },
  currency: { title: "Currency", hint: "ISO 4217; shown where records name none." },
  personalData: { title: "Names of guests", hint: "keep, or strip: hashed on arrival." },
  "cadence.inventories": { title: "Inventories expected every", hint: "Hours between batches." },
  "cadence.reservations": { title: "Reservations expected every", hint: "Hours between batches." },
  "cadence.groups": { title: "Groups expected every", hint: "Hours between batches." },
};

/** What a setting is called, and what it takes. */
export function describeSetting(name: SettingName): SettingWords {
  return WORDS[name] ?? { title: name, hint: "" };
}

interface ChangeSettingDialogProps {
  readonly setting: SettingItem;
  readonly clientCode: string;
  /** Empty: for the whole client code. */
  readonly propertyCode: string;
  readonly onClose: () => void;
}

export function ChangeSettingDialog({
  setting,
  clientCode,
  propertyCode,
  onClose,
}: ChangeSettingDialogProps) {
  const [value, setValue] = useState(setting.value ?? "");
  const { title, hint } = describeSetting(setting.name);
  const codes = propertyCode === "" ? { clientCode } : { clientCode, propertyCode };
  const of = propertyCode === "" ? `all properties of ${clientCode}` : `${clientCode} / ${propertyCode}`;
  const isOwn = setting.from === (propertyCode === "" ? "client" : "property");
  const done = `${title} is changed.`;
  return (
    <FormDialog
      title={title}
      text={`For ${of}.`}
      button="Save"
      done={done}
      onSubmit={() => tell("settings/set", { ...codes, name: setting.name, value: value.trim() })}
      onClose={onClose}
      actions={({ busy, run }) =>
        isOwn ? (
          <Button
            busy={busy}
            onClick={() =>
              run(() => tell("settings/unset", { ...codes, name: setting.name }).then(onClose), done)
            }
          >
            Take it back
          </Button>
        ) : null
      }
    >
      {setting.name === "occupancyBase" ? (
        <SelectField
          label={hint}
          value={value}
          options={{ capacity: "capacity: every room", available: "available: capacity less out of order" }}
          onChange={setValue}
        />
      ) : (
        <InputField label="Value" hint={hint} required autoComplete="off" value={value} onChange={setValue} />
      )}
    </FormDialog>
  );
}
