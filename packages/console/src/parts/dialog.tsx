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
import { Button, type ButtonKind } from "./button.tsx";
import { AreaField } from "./field.tsx";
import { Failure, Notice } from "./page.tsx";
import { Copyable } from "./values.tsx";

const SHOWN_MS = 6000;
const SayContext = createContext<(words: string) => void>(() => undefined);

/** Shows messages in a corner and announces them to screen readers. */
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
  /** Escape does not close the dialog. */
  readonly stays?: boolean;
  readonly children: ReactNode;
}

/** Opens a dialog of the browser while it is rendered. */
export function useModal() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    if (element !== null && !element.open) element.showModal();
    return () => element?.close();
  }, []);
  return dialog;
}

export function Dialog({ title, onClose, stays = false, children }: DialogProps) {
  const dialog = useModal();
  const id = useId();
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

interface DialogButtonProps {
  readonly text: string;
  readonly kind?: ButtonKind;
  readonly children: (close: () => void) => ReactNode;
}

/** Opens the dialog in `children`. */
export function DialogButton({ text, kind = "plain", children }: DialogButtonProps) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button kind={kind} onClick={() => setOpen(true)}>
        {text}
      </Button>
      {open && children(() => setOpen(false))}
    </>
  );
}

interface FormProps {
  readonly button: string;
  readonly className?: string;
  readonly danger?: boolean;
  /** False: a field is missing or invalid. */
  readonly ready?: boolean;
  readonly done?: string;
  readonly onSubmit: (form: FormData) => Promise<unknown>;
  readonly actions?: (deed: Deed) => ReactNode;
  readonly children?: ReactNode;
}

/** Calls `onSubmit` with the fields, then resets them. Shows a failure above the fields. */
export function Form(props: FormProps) {
  const { button, className = "form", danger = false, ready = true, done, onSubmit, actions } = props;
  const deed = useDeed();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const element = event.currentTarget;
    const form = new FormData(element);
    if (ready) deed.run(() => onSubmit(form).then(() => element.reset()), done);
  };
  return (
    <form className={className} onSubmit={submit}>
      <Failure error={deed.error} />
      {props.children}
      <div className="form-actions">
        <Button type="submit" kind={danger ? "danger" : "main"} busy={deed.busy || !ready}>
          {button}
        </Button>
        {actions?.(deed)}
      </div>
    </form>
  );
}

export function typed(form: FormData, name: string): string {
  return String(form.get(name) ?? "").trim();
}

interface FormDialogProps extends FormProps {
  readonly title: string;
  readonly text?: ReactNode;
  readonly onClose: () => void;
}

export function FormDialog({ title, text, onClose, onSubmit, actions, ...form }: FormDialogProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      {text !== undefined && <p className="muted">{text}</p>}
      <Form
        {...form}
        className="stack"
        onSubmit={(fields) => onSubmit(fields).then(onClose)}
        actions={(deed) => (
          <>
            {actions?.(deed)}
            <Button onClick={onClose}>Cancel</Button>
          </>
        )}
      />
    </Dialog>
  );
}

interface FormDialogButtonProps extends Omit<FormDialogProps, "onClose"> {
  readonly opener: string;
  readonly openerKind?: ButtonKind;
}

export function FormDialogButton({ opener, openerKind, ...dialog }: FormDialogButtonProps) {
  return (
    <DialogButton text={opener} kind={openerKind ?? (dialog.danger === true ? "danger" : "plain")}>
      {(close) => <FormDialog {...dialog} onClose={close} />}
    </DialogButton>
  );
}

/** The operator's reason; the field is named `reason`. */
export function ReasonField({ required }: { required: boolean }) {
  return (
    <AreaField
      name="reason"
      label={required ? "Reason" : "Reason (optional)"}
      hint="Kept in the audit with your name."
      required={required}
      maxLength={500}
    />
  );
}

interface SecretDialogProps {
  readonly title: string;
  readonly clientId?: string;
  /** Replaces the advice for a client's secret. */
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
        {clientId !== undefined && (
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
