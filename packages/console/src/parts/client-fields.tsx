import type { ClientLimits, ClientOptionsAnswer } from "../contract.ts";
import { AreaField, InputField } from "./field.tsx";

/** Limits as they are typed: empty follows the configuration. */
export type TypedLimits = Readonly<Record<keyof ClientLimits, string>>;

export const NO_LIMITS: TypedLimits = { requestRate: "", requestBurst: "", tokenBurst: "" };

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

/** After how many days a secret expires. */
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
