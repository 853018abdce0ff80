import { type FormEvent, useState } from "react";
import type { SettingItem, SettingName, SettingsAnswer } from "../../contract.ts";
import { tell } from "../../data/call.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Field, SelectField } from "../../parts/field.tsx";
import { Failure } from "../../parts/states.tsx";
import { useSay } from "../../parts/toast.tsx";
import { useDeed } from "../../parts/use-deed.ts";

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
  readonly onDone: () => void;
}

export function ChangeSettingDialog(props: ChangeSettingDialogProps) {
  const { setting, clientCode, propertyCode, onClose, onDone } = props;
  const [value, setValue] = useState(setting.value ?? "");
  const deed = useDeed();
  const say = useSay();
  const words = describeSetting(setting.name);
  const of = propertyCode === "" ? `all properties of ${clientCode}` : `${clientCode} / ${propertyCode}`;
  const isOwn = setting.from === (propertyCode === "" ? "client" : "property");
  const send = (path: "settings/set" | "settings/unset", more: { readonly value?: string }) =>
    deed.run(async () => {
      const request = {
        clientCode,
        ...(propertyCode === "" ? {} : { propertyCode }),
        name: setting.name,
        ...more,
      };
      await tell<SettingsAnswer>(path, request);
      say(`${words.title} is changed.`);
      onDone();
    });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send("settings/set", { value: value.trim() });
  };
  return (
    <Dialog title={words.title} onClose={onClose}>
      <p className="muted">For {of}.</p>
      <form className="stack" onSubmit={submit}>
        <Failure error={deed.error} />
        {setting.name === "occupancyBase" ? (
          <SelectField
            label={words.hint}
            value={value}
            options={[
              ["capacity", "capacity: every room"],
              ["available", "available: capacity less out of order"],
            ]}
            onChange={setValue}
          />
        ) : (
          <Field label="Value" hint={words.hint}>
            {(tied) => (
              <input
                {...tied}
                required
                value={value}
                autoComplete="off"
                spellCheck={false}
                onChange={(event) => setValue(event.target.value)}
              />
            )}
          </Field>
        )}
        <div className="form-actions">
          <Button type="submit" kind="main" busy={deed.busy}>
            Save
          </Button>
          {isOwn ? (
            <Button busy={deed.busy} onClick={() => send("settings/unset", {})}>
              Take it back
            </Button>
          ) : null}
          <Button kind="quiet" onClick={onClose}>
            Cancel
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
