import type { ButtonHTMLAttributes, ReactNode } from "react";
import { Link } from "wouter";

export type ButtonKind = "main" | "plain" | "danger" | "quiet";

interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "disabled"> {
  readonly kind?: ButtonKind;
  /** What it does is being done: it stays where it is, focus and all, and does nothing more. */
  readonly busy?: boolean;
}

export function Button({ kind = "plain", busy = false, type = "button", onClick, ...rest }: ButtonProps) {
  return (
    <button
      {...rest}
      type={type}
      className="button"
      data-kind={kind}
      aria-disabled={busy || undefined}
      onClick={(event) => {
        if (busy) event.preventDefault();
        else onClick?.(event);
      }}
    />
  );
}

interface LinkButtonProps {
  readonly to: string;
  readonly kind?: ButtonKind;
  readonly children: ReactNode;
}

/** Goes somewhere, and looks like what can be done there. */
export function LinkButton({ to, kind = "plain", children }: LinkButtonProps) {
  return (
    <Link to={to} className="button" data-kind={kind}>
      {children}
    </Link>
  );
}
