import { useMutation } from "@tanstack/react-query";
import {
  createContext,
  type FormEvent,
  type ReactNode,
  useContext,
  useEffect,
  useId,
  useRef,
  useState,
} from "react";
import { type CallError, renewAnswers } from "../data/queries.ts";
import { Button } from "./button.tsx";
import { Failure, Notice } from "./page.tsx";
import { Copyable } from "./values.tsx";

const SHOWN_MS = 6000;
const SayContext = createContext<(words: string) => void>(() => undefined);

/** Announces what was done, in a corner and to screen readers. */
export function ToastProvider({ children }: { children: ReactNode }) {
  const [said, setSaid] = useState({ words: "", times: 0 });
  useEffect(() => {
    if (said.words === "") return;
    const timer = setTimeout(() => setSaid({ words: "", times: 0 }), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [said]);
  const [say] = useState(() => (words: string) => setSaid(({ times }) => ({ words, times: times + 1 })));
  return (
    <SayContext value={say}>
      {children}
      <div className="toast" role="status">
        {said.words}
      </div>
    </SayContext>
  );
}

export function useSay(): (words: string) => void {
  return useContext(SayContext);
}

/** A change by the operator. */
export interface Deed {
  readonly busy: boolean;
  readonly error: CallError | null;
  readonly run: (work: () => Promise<unknown>, done?: string) => void;
}

/** Runs one change at a time, then refetches every answer. */
export function useDeed(): Deed {
  const say = useSay();
  const { mutate, isPending, error } = useMutation<unknown, CallError, () => Promise<unknown>>({
    mutationFn: (work) => work(),
    onSettled: renewAnswers,
  });
  const run = (work: () => Promise<unknown>, done?: string) => {
    if (isPending) return;
    mutate(async () => {
      await work();
      if (done !== undefined) say(done);
    });
  };
  return { busy: isPending, error, run };
}

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  /** Escape does not close it. */
  readonly stays?: boolean;
  readonly children: ReactNode;
}

/** The browser's dialog; open while it is rendered. */
export function Dialog({ title, onClose, stays = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const element = dialog.current;
    if (element !== null && !element.open) element.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onCancel={(event) => (stays ? event.preventDefault() : onClose())}
      onClose={onClose}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

interface FormDialogProps {
  readonly title: string;
  readonly text?: ReactNode;
  readonly button: string;
  readonly danger?: boolean;
  readonly ready?: boolean;
  readonly done?: string;
  readonly onSubmit: () => Promise<unknown>;
  readonly onClose: () => void;
  readonly actions?: (deed: Deed) => ReactNode;
  readonly children?: ReactNode;
}

/** Runs `onSubmit` and closes; a failure is shown above the fields. */
export function FormDialog(props: FormDialogProps) {
  const { title, text, button, danger = false, ready = true, done, onSubmit, onClose, actions } = props;
  const deed = useDeed();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (ready) deed.run(() => onSubmit().then(onClose), done);
  };
  return (
    <Dialog title={title} onClose={onClose}>
      {text === undefined ? null : <p className="muted">{text}</p>}
      <form className="stack" onSubmit={submit}>
        <Failure error={deed.error} />
        {props.children}
        <div className="form-actions">
          <Button type="submit" kind={danger ? "danger" : "main"} busy={deed.busy || !ready}>
            {button}
          </Button>
          {actions?.(deed)}
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}

interface SecretDialogProps {
  readonly title: string;
  readonly clientId?: string;
  /** In place of the advice for a client's secret. */
  readonly warning?: string;
  readonly secret: string;
  readonly children?: ReactNode;
  readonly onClose: () => void;
}

const DIGEST_ONLY =
  "Hand it over on a secure channel. The service keeps only its digest and cannot show it again.";

export function SecretDialog(props: SecretDialogProps) {
  const { title, clientId, warning = DIGEST_ONLY, secret, children, onClose } = props;
  return (
    <Dialog title={title} onClose={onClose} stays>
      <div className="stack">
        <Notice tone="warn" title="The secret is shown this once">
          {warning}
        </Notice>
        {clientId === undefined ? null : (
          <div className="field">
            <span className="label">Client id</span>
            <Copyable text={clientId} what="client id" />
          </div>
        )}
        <div className="field">
          <span className="label">Secret</span>
          <Copyable text={secret} what="secret" />
        </div>
        {children}
        <div className="form-actions">
          <Button kind="main" onClick={onClose}>
            I have kept it
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
