import type { ReactNode } from "react";
import type { CallError } from "../data/call.ts";
import type { Asked } from "../data/queries.ts";
import { writeAgo } from "../field/format.ts";
import { Button } from "./button.tsx";
import { Icon } from "./icon.tsx";

interface EmptyProps {
  readonly title: string;
  readonly children?: ReactNode;
  readonly actions?: ReactNode;
}

/** Nothing to show, why, and what can be done about it. */
export function Empty({ title, children, actions }: EmptyProps) {
  return (
    <div className="empty">
      <strong>{title}</strong>
      {children === undefined ? null : <p>{children}</p>}
      {actions === undefined ? null : <div className="form-actions">{actions}</div>}
    </div>
  );
}

/** Something is on its way. */
export function Waiting({ lines = 6 }: { readonly lines?: number }) {
  return (
    <div className="waiting">
      <span className="unseen" role="status">
        Loading
      </span>
      {Array.from({ length: lines }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all alike
        <i key={line} />
      ))}
    </div>
  );
}

interface NoticeProps {
  readonly tone?: "plain" | "warn" | "bad";
  readonly title: string;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
}

export function Notice({ tone = "plain", title, children, action }: NoticeProps) {
  return (
    <div className="notice" data-tone={tone} role={tone === "bad" ? "alert" : undefined}>
      {tone === "plain" ? null : <Icon name={tone} size={16} />}
      <div className="stack">
        <strong>{title}</strong>
        {children === undefined ? null : <div>{children}</div>}
      </div>
      {action}
    </div>
  );
}

/** What to do about an error, by its kind. */
function adviceOn({ status, retryAfterSeconds }: CallError): string {
  if (status === 0) return "Check that the service runs, then try again.";
  if (status === 404) return "It may have been removed, or the link may be cut short.";
  if (status === 400 || status === 422) return "Correct the filters or the address above.";
  if (retryAfterSeconds !== undefined) return `Try again in ${retryAfterSeconds} seconds.`;
  if (status >= 500) return "Try again; if it stays, the service's log says more.";
  return "Try again.";
}

interface FailureProps {
  /** Null: nothing failed. */
  readonly error: CallError | null;
  readonly onRetry?: () => unknown;
}

export function Failure({ error, onRetry }: FailureProps) {
  if (error === null) return null;
  const retry = onRetry === undefined ? undefined : <Button onClick={onRetry}>Try again</Button>;
  return (
    <Notice tone="bad" title={error.message} action={retry}>
      {adviceOn(error)}{" "}
      {error.exception === "" ? null : <code className="small break">{error.exception}</code>}
    </Notice>
  );
}

interface AnswerProps<Answer> {
  readonly asked: Asked<Answer>;
  readonly lines?: number;
  readonly children: (answer: Answer) => ReactNode;
}

/** The answer when it is there; until then that it is awaited, or why it is not coming. A failed renewal keeps what was shown. */
export function Answered<Answer>({ asked, lines = 6, children }: AnswerProps<Answer>) {
  const { data, error, dataUpdatedAt } = asked;
  if (data === undefined)
    return error === null ? <Waiting lines={lines} /> : <Failure error={error} onRetry={asked.refetch} />;
  return (
    <>
      {error === null ? null : (
        <Notice
          tone="warn"
          title={`Not up to date: ${error.message}`}
          action={<Button onClick={asked.refetch}>Try again</Button>}
        >
          This answer came {writeAgo(new Date(dataUpdatedAt).toISOString())}.
        </Notice>
      )}
      {children(data)}
    </>
  );
}
