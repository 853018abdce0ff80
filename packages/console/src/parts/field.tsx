import { type ReactNode, useId } from "react";

interface FieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly wrong?: string | undefined;
  readonly wide?: boolean;
  /** The control, given what ties it to its label, hint and complaint. */
  readonly children: (tied: TiedControl) => ReactNode;
}

export interface TiedControl {
  readonly id: string;
  readonly className: "input";
  readonly "aria-invalid": true | undefined;
  readonly "aria-describedby": string | undefined;
}

/** A labelled control. */
export function Field({ label, hint, wrong, wide = false, children }: FieldProps) {
  const id = useId();
  const described = [hint === undefined ? "" : `${id}-hint`, wrong === undefined ? "" : `${id}-wrong`];
  return (
    <div className={wide ? "field wide" : "field"}>
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        className: "input",
        "aria-invalid": wrong === undefined ? undefined : true,
        "aria-describedby": described.filter((name) => name !== "").join(" ") || undefined,
      })}
      {hint === undefined ? null : (
        <span className="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {wrong === undefined ? null : (
        <span className="wrong" id={`${id}-wrong`}>
          {wrong}
        </span>
      )}
    </div>
  );
}

interface SelectFieldProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly (readonly [value: Value, text: string])[];
  readonly onChange: (value: Value) => void;
}

/** One of a few values from a list. */
export function SelectField<Value extends string>({
  label,
  value,
  options,
  onChange,
}: SelectFieldProps<Value>) {
  return (
    <Field label={label}>
      {(tied) => (
        <select {...tied} value={value} onChange={(event) => onChange(event.target.value as Value)}>
          {options.map(([each, text]) => (
            <option key={each} value={each}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface ChoiceProps<Value extends string> extends SelectFieldProps<Value> {
  /** The label is for those who do not see the choice. */
  readonly labelUnseen?: boolean;
}

/** One of two or three values, all in sight. */
export function Choice<Value extends string>({
  label,
  value,
  options,
  onChange,
  labelUnseen = false,
}: ChoiceProps<Value>) {
  const name = useId();
  return (
    <fieldset className="field">
      <legend className={labelUnseen ? "unseen" : ""}>{label}</legend>
      <div className="choice">
        {options.map(([each, text]) => (
          <label key={each}>
            <input type="radio" name={name} checked={each === value} onChange={() => onChange(each)} />
            {text}
          </label>
        ))}
      </div>
    </fieldset>
  );
}
