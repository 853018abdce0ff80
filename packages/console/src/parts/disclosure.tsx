import { type ReactNode, useState } from "react";

interface DisclosureProps {
  readonly summary: ReactNode;
  readonly children: ReactNode;
}

/** What is there for whoever opens it; until then it is not made, as it may be long. */
export function Disclosure({ summary, children }: DisclosureProps) {
  const [wasOpened, setWasOpened] = useState(false);
  return (
    <details onToggle={(event) => setWasOpened((before) => before || event.currentTarget.open)}>
      <summary>{summary}</summary>
      {wasOpened ? children : null}
    </details>
  );
}
