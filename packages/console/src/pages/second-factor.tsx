import encodeQR from "qr";
import { useState } from "react";
import type { TotpAnswer, TotpConfirmedAnswer } from "../contract.ts";
import { post, renewSession, useSession } from "../data/queries.ts";
import { Button } from "../parts/button.tsx";
import { Form, typed } from "../parts/dialog.tsx";
import { InputField } from "../parts/field.tsx";
import { Notice, Section } from "../parts/page.tsx";
import { Copyable } from "../parts/values.tsx";

/** Sets up an authenticator app, whose codes the login then requires. */
export function SecondFactor() {
  const account = useSession().data?.operator;
  const [begun, setBegun] = useState<TotpAnswer>();
  const [recoveryCodes, setRecoveryCodes] = useState<readonly string[]>();
  if (account?.hasPassword !== true) return null;
  return (
    <Section title="Authenticator app">
      {recoveryCodes !== undefined ? (
        <div className="stack narrow">
          <Notice tone="warn" title="The recovery codes are shown this once">
            Each replaces one code of the app, once. Keep them apart from the device.
          </Notice>
          <Copyable text={recoveryCodes.join("\n")} what="recovery codes" />
          <div className="form-actions">
            <Button kind="main" onClick={() => setRecoveryCodes(undefined)}>
              I have kept them
            </Button>
          </div>
        </div>
      ) : account.hasTotp ? (
        <Form
          className="form narrow"
          button="Turn codes off"
          danger
          done="Codes are off."
          onSubmit={async (form) => {
            await post("totp/disable", { code: typed(form, "code") });
            await renewSession();
          }}
        >
          <p>Each login with your password requires a code.</p>
          <InputField label="Code, or a recovery code" name="code" autoComplete="one-time-code" required />
        </Form>
      ) : begun !== undefined ? (
        <Form
          className="form narrow"
          button="Turn codes on"
          onSubmit={async (form) => {
            const answer = await post<TotpConfirmedAnswer>("totp/confirm", { code: typed(form, "code") });
            setRecoveryCodes(answer.recoveryCodes);
            setBegun(undefined);
            await renewSession();
          }}
        >
          <p>
            Scan the QR code with an authenticator app, or enter the key; then enter the code that the app
            shows.
          </p>
          <QrCode text={begun.uri} />
          <Copyable text={begun.secret} what="key" />
          <InputField label="Code" name="code" autoComplete="one-time-code" inputMode="numeric" required />
        </Form>
      ) : (
        <Form
          className="form narrow"
          button="Set up an app"
          onSubmit={async (form) =>
            setBegun(await post<TotpAnswer>("totp/begin", { current: String(form.get("current") ?? "") }))
          }
        >
          <p>With an authenticator app, your password alone is not enough to log in.</p>
          <InputField
            label="Your password"
            name="current"
            type="password"
            autoComplete="current-password"
            required
          />
        </Form>
      )}
    </Section>
  );
}

/** Dark on light in both themes, as cameras expect. */
function QrCode({ text }: { text: string }) {
  const rows = encodeQR(text, "raw", { border: 2 });
  const path = rows
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : "")))
    .join("");
  return (
    <svg
      className="qr"
      viewBox={`0 0 ${rows.length} ${rows.length}`}
      role="img"
      aria-label="QR code of the key"
    >
      <rect width={rows.length} height={rows.length} fill="#fff" />
      <path d={path} fill="#000" shapeRendering="crispEdges" />
    </svg>
  );
}
