import { useEffect, useState } from "react";
import { Field } from "./field.tsx";

interface TextFilterProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly placeholder?: string;
  readonly type?: "text" | "search" | "date";
  readonly wide?: boolean;
  /** What is wrong with a text, or undefined. A wrong one is not asked for. */
  readonly check?: (value: string) => string | undefined;
  /** `/` leads here. */
  readonly first?: boolean;
}

/** What is typed waits so long for more before it is asked for. */
const SETTLED_MS = 350;

/** A filter that is typed: it takes effect when the typing pauses, or at once with Enter. */
export function TextFilter(props: TextFilterProps) {
  const { label, value, onChange, placeholder, type = "search", wide = false, check, first = false } = props;
  const [typed, setTyped] = useState(value);
  const [known, setKnown] = useState(value);
  // The address changed by something else: a link, or going back.
  if (known !== value) {
    setKnown(value);
    setTyped(value);
  }
  const wrong = typed === "" ? undefined : check?.(typed);
  // A field for a date is empty while a part of it is.
  const isUnfinished = type === "date" && typed === "";
  useEffect(() => {
    if (typed === value || wrong !== undefined || isUnfinished) return;
    const timer = setTimeout(() => onChange(typed), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [typed, value, wrong, isUnfinished, onChange]);
  return (
    <Field label={label} wrong={wrong} wide={wide}>
      {(tied) => (
        <input
          {...tied}
          type={type}
          value={typed}
          placeholder={placeholder}
          spellCheck={false}
          autoComplete="off"
          data-first-filter={first || undefined}
          onChange={(event) => setTyped(event.target.value)}
          onBlur={() => {
            if (isUnfinished) setTyped(value);
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter" && wrong === undefined && !isUnfinished && typed !== value)
              onChange(typed);
          }}
        />
      )}
    </Field>
  );
}
