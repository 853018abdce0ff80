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
  search: "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zM10.4 10.4 14 14",
  help: "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM6.3 6.4a1.8 1.8 0 1 1 2.6 1.6c-.6.3-.9.6-.9 1.2M8 11.2v.1",
  property: "M3 14V3.5h6.5V14M9.5 7H13v7M1.8 14h12.4M5.3 6h2M5.3 8.5h2M5.3 11h2",
  page: "M4 2h5.5L12.5 5v9h-8.5zM6.3 7.5h4M6.3 10h4",
  record: "M2.5 3.5h11v9h-11zM2.5 6.5h11M6 6.5v6",
  request: "M8 2.5v7.5M5 7.2l3 3 3-3M2.5 11.5v2h11v-2",
  client: "M8 3a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5zM3.2 13.5a4.8 4.8 0 0 1 9.6 0",
  recent: "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM8 4.8V8l2.3 1.6",
  action: "M9 2 4 9h3.5L7 14l5-7H8.5z",
  switch: "M5 6.2 8 3l3 3.2M5 9.8 8 13l3-3.2",
  close: "M4 4l8 8M12 4l-8 8",
  filter: "M2.5 4h11M4.5 8h7M6.5 12h3",
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
