import { type ReactNode, useEffect, useId, useRef } from "react";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  /** Escape does not close it: what it shows is not shown again. */
  readonly stays?: boolean;
  readonly children: ReactNode;
}

/** Asks for attention over the page: the browser's own dialog, with its focus trap and Escape. There while it is rendered. */
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
