import type { ButtonHTMLAttributes, ReactNode } from "react";
import { Link } from "wouter";

export type ButtonKind = "main" | "plain" | "danger" | "quiet";

interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "disabled"> {
  readonly kind?: ButtonKind;
  /** Keeps its focus and ignores clicks. */
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

export function LinkButton({ to, kind = "plain", children }: LinkButtonProps) {
  return (
    <Link to={to} className="button" data-kind={kind}>
      {children}
    </Link>
  );
}

/** On a 16 x 16 grid. */
const PATHS = {
  warn: "M8 2.5 14.5 13.5h-13zM8 6.5v3.2M8 11.7v.1",
  bad: "M8 1.8 14.2 8 8 14.2 1.8 8zM8 5v3.6M8 10.8v.1",
  good: "M3 8.5 6.5 12 13 4.5",
  waiting: "M8 2a6 6 0 1 0 6 6M8 4.5V8l2.5 1.5",
  menu: "M2 4.5h12M2 8h12M2 11.5h12",
  off: "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM3.8 3.8l8.4 8.4",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 14 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
      aria-hidden="true"
    >
      <path d={PATHS[name]} strokeLinecap="round" strokeLinejoin="round" />
    </svg>
  );
}
