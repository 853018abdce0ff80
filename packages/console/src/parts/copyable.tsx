import { useState } from "react";
import { Button } from "./button.tsx";

/** A text that is to be taken elsewhere. */
export function Copyable({ text, what }: { readonly text: string; readonly what: string }) {
  const [copied, setCopied] = useState<"yes" | "failed">();
  const copy = () => {
    // Pages that are not served securely have no clipboard; the text can still be selected.
    const done = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error("no clipboard"));
    done.then(
      () => setCopied("yes"),
      () => setCopied("failed"),
    );
  };
  return (
    <div className="copyable">
      <code data-testid={what}>{text}</code>
      <Button onClick={copy}>{copied === "yes" ? "Copied" : "Copy"}</Button>
      <span className="unseen" role="status">
        {copied === "yes" ? `The ${what} is in the clipboard` : ""}
        {copied === "failed" ? "It could not be copied: select the text" : ""}
      </span>
    </div>
  );
}
