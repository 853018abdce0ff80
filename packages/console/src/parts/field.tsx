import {
  type InputHTMLAttributes,
  type ReactNode,
  type TextareaHTMLAttributes,
  useEffect,
  useId,
  useState,
} from "react";
import {
  instantOf,
  isStayDate,
  localTime,
  pickedInstant,
  readInstant,
  UTC,
  writeDay,
  writeDayOfYear,
  writeInstant,
  writeTime,
  writeWeekday,
  zoneName,
} from "../field/format.ts";
import { useFilters } from "../routing/filters.ts";
import { useChip } from "./filters.tsx";
import { usePropertyView } from "./property-view.tsx";

interface Labelled {
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  readonly wrong?: string | undefined;
  readonly wide?: boolean;
}

interface TiedControl {
  readonly id: string;
  readonly className: "input";
  readonly "aria-invalid": true | undefined;
  readonly "aria-describedby": string | undefined;
}

interface FieldProps extends Labelled {
  readonly children: (tied: TiedControl) => ReactNode;
}

function Field({ label, hint, wrong, wide = false, children }: FieldProps) {
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
      {hint !== undefined && (
        <span className="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {wrong !== undefined && (
        <span className="wrong" id={`${id}-wrong`}>
          {wrong}
        </span>
      )}
    </div>
  );
}

/** Controlled by `value` and `onChange`, or read by `name` when its form is submitted. */
type Typed<Attributes> = Omit<Attributes, "onChange"> &
  Labelled & { readonly onChange?: (value: string) => void };

export function InputField(props: Typed<InputHTMLAttributes<HTMLInputElement>>) {
  const { label, hint, wrong, wide = false, onChange, ...rest } = props;
  return (
    <Field label={label} hint={hint} wrong={wrong} wide={wide}>
      {(tied) => (
        <input spellCheck={false} {...rest} {...tied} onChange={(event) => onChange?.(event.target.value)} />
      )}
    </Field>
  );
}

export function AreaField(props: Typed<TextareaHTMLAttributes<HTMLTextAreaElement>>) {
  const { label, hint, wrong, wide = false, onChange, ...rest } = props;
  return (
    <Field label={label} hint={hint} wrong={wrong} wide={wide}>
      {(tied) => <textarea {...rest} {...tied} onChange={(event) => onChange?.(event.target.value)} />}
    </Field>
  );
}

/** An array keeps its order, which object keys may not. A lone value is its own label. */
type Options<Value extends string> =
  | Readonly<Partial<Record<Value, string>>>
  | readonly (Value | readonly [value: Value, text: string])[];

function pairsOf<Value extends string>(options: Options<Value>): readonly (readonly [Value, string])[] {
  if (!Array.isArray(options)) return Object.entries(options) as [Value, string][];
  return options.map((option) => (typeof option === "string" ? [option, option] : option));
}

interface SelectFieldProps<Value extends string> extends Pick<Labelled, "wide"> {
  readonly label: string;
  readonly name?: string;
  readonly value?: Value;
  readonly defaultValue?: string;
  readonly options: Options<Value>;
  /** The empty value counts as missing. */
  readonly required?: boolean;
  readonly onChange?: (value: Value) => void;
}

export function SelectField<Value extends string>(props: SelectFieldProps<Value>) {
  const { label, wide = false, options, onChange, ...rest } = props;
  return (
    <Field label={label} wide={wide}>
      {(tied) => (
        <select {...rest} {...tied} onChange={(event) => onChange?.(event.target.value as Value)}>
          {pairsOf(options).map(([each, text]) => (
            <option key={each} value={each}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface ChoiceProps<Value extends string>
  extends Omit<SelectFieldProps<Value>, "name" | "defaultValue" | "onChange"> {
  readonly onChange: (value: Value) => void;
  readonly hideLabel?: boolean;
}

export function Choice<Value extends string>(props: ChoiceProps<Value>) {
  const { label, value, options, onChange, hideLabel = false } = props;
  const name = useId();
  return (
    <fieldset className="field">
      <legend className={hideLabel ? "unseen" : ""}>{label}</legend>
      <div className="choice">
        {pairsOf(options).map(([each, text]) => (
          <label key={each}>
            <input type="radio" name={name} checked={each === value} onChange={() => onChange(each)} />
            {text}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

interface TextFilterProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly placeholder?: string | undefined;
  readonly type?: "search" | "date" | "datetime-local";
  readonly wide?: boolean;
  /** Returns the error of a text; an invalid text is not applied. */
  readonly check?: (value: string) => string | undefined;
  readonly first?: boolean;
  /** For a date and time. */
  readonly timeZone?: string;
}

const SETTLED_MS = 350;

/** Applies when typing pauses, or on Enter. */
export function TextFilter(props: TextFilterProps) {
  const { label, value, onChange, placeholder, type = "search", wide = false, check, first = false } = props;
  const { timeZone = UTC } = props;
  const [typed, setTyped] = useState(value);
  const [known, setKnown] = useState(value);
  // The address changed.
  if (known !== value) {
    setKnown(value);
    setTyped(value);
  }
  const wrong = typed === "" ? undefined : check?.(typed);
  // A picker is also empty while it is incomplete; a date is required.
  const [isIncomplete, setIncomplete] = useState(false);
  const isUnfinished = typed === "" && (type === "date" || isIncomplete);
  useEffect(() => {
    if (typed === value || wrong !== undefined || isUnfinished) return;
    const timer = setTimeout(() => onChange(typed), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [typed, value, wrong, isUnfinished, onChange]);
  return (
    <InputField
      label={
        type === "search" ? (
          label
        ) : (
          <PickerLabel label={label} picked={typed} without={placeholder} timeZone={timeZone} />
        )
      }
      wrong={wrong}
      wide={wide}
      type={type}
      value={typed}
      placeholder={placeholder}
      autoComplete="off"
      data-first-filter={first || undefined}
      onChange={setTyped}
      onInput={({ currentTarget }) => setIncomplete(currentTarget.validity.badInput)}
      onBlur={() => {
        if (isUnfinished) setTyped(value);
      }}
      onKeyDown={({ key }) => {
        if (key === "Enter" && wrong === undefined && !isUnfinished && typed !== value) onChange(typed);
      }}
    />
  );
}

interface PickerLabelProps {
  readonly label: string;
  readonly picked: string;
  readonly without: string | undefined;
  readonly timeZone: string;
}

/** Writes out the picked date, because the browser's format may be ambiguous. */
function PickerLabel({ label, picked, without, timeZone }: PickerLabelProps) {
  const [date = "", time] = picked.split("T");
  const written =
    time === undefined
      ? `${writeWeekday(date)} ${writeDay(date)}`
      : `${writeDayOfYear(date)} ${writeTime(picked, time.length)} ${zoneName(instantOf(picked, timeZone), timeZone)}`;
  return (
    <>
      {label}
      {isStayDate(date) ? (
        <span className="picked">{written}</span>
      ) : (
        without !== undefined && <span className="picked">{without}</span>
      )}
    </>
  );
}

type AddressFilterProps = Omit<TextFilterProps, "value" | "onChange"> & { readonly name: string };

export function AddressFilter({ name, ...rest }: AddressFilterProps) {
  const { filters, change } = useFilters();
  const value = filters.get(name) ?? "";
  useChip(rest.label, value || undefined, () => change({ [name]: undefined }));
  return <TextFilter {...rest} value={value} onChange={(next) => change({ [name]: next }, "replace")} />;
}

interface InstantFilterProps {
  readonly name: string;
  readonly label: string;
  /** The time that a date without a time means. */
  readonly end?: "start" | "end";
  /** The meaning of an empty field. */
  readonly placeholder?: string;
  readonly first?: boolean;
}

/** A date and time in the zone of the page; optional. The address has it in UTC. */
export function InstantFilter({ name, label, end, placeholder, first = false }: InstantFilterProps) {
  const { filters, change } = useFilters();
  const { timeZone } = usePropertyView();
  const instant = readInstant(filters.get(name) ?? "", end);
  const written =
    instant === undefined
      ? undefined
      : `${writeInstant(instant, timeZone).slice(0, -3)} ${zoneName(instant, timeZone)}`;
  useChip(label, written, () => change({ [name]: undefined }));
  return (
    <TextFilter
      label={label}
      type="datetime-local"
      placeholder={placeholder}
      first={first}
      timeZone={timeZone}
      value={instant === undefined ? "" : pickedInstant(localTime(instant, timeZone))}
      onChange={(local) =>
        change({ [name]: local === "" ? "" : pickedInstant(instantOf(local, timeZone)) }, "replace")
      }
    />
  );
}

export function InstantRange({ from, to }: { from: string; to: string }) {
  return (
    <div className="pair">
      <InstantFilter name="from" label={from} />
      <InstantFilter name="to" label={to} end="end" />
    </div>
  );
}

interface AddressChoiceProps<Value extends string> {
  readonly label: string;
  readonly name: string;
  readonly options: Options<Value>;
  /** The value if the address has none; by default the first. */
  readonly standard?: Value;
  /** Keeps the open page of a list. */
  readonly keepsPage?: boolean;
}

function useAddressChoice<Value extends string>(props: AddressChoiceProps<Value>) {
  const { label, name, options, keepsPage } = props;
  const { filters, change } = useFilters();
  const pairs = pairsOf(options);
  const standard = props.standard ?? pairs[0]?.[0] ?? ("" as Value);
  const [value, text] = pairs.find(([each]) => each === filters.get(name)) ?? [standard, ""];
  const cursor = filters.get("cursor") ?? undefined;
  const onChange = (next: Value) =>
    change({ [name]: next === standard ? undefined : next, ...(keepsPage === true ? { cursor } : {}) });
  useChip(label, value === standard ? undefined : text, () => onChange(standard));
  return { value, onChange };
}

export function AddressChoice<Value extends string>(props: AddressChoiceProps<Value>) {
  return <Choice label={props.label} options={props.options} {...useAddressChoice(props)} />;
}

export function AddressSelect<Value extends string>(props: AddressChoiceProps<Value>) {
  return <SelectField label={props.label} options={props.options} {...useAddressChoice(props)} />;
}
