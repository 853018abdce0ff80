import type { ClientLimits, ClientOptionsAnswer } from "../contract.ts";
import { Field } from "./field.tsx";

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
        <Field key={name} label={label} hint={`Empty: ${defaults[name]}, as configured`}>
          {(tied) => (
            <input
              {...tied}
              type="number"
              min={1}
              step={1}
              inputMode="numeric"
              value={limits[name]}
              onChange={(event) => onChange({ ...limits, [name]: event.target.value })}
            />
          )}
        </Field>
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
    <Field
      label={label}
      hint="One a line: CLIENTCODE/PROPERTYCODE, or CLIENTCODE/* for every hotel of the code."
      wrong={complaint}
    >
      {(tied) => (
        <textarea
          {...tied}
          value={text}
          spellCheck={false}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}
