/** The bell of a front desk, and the name. */
export function Brand() {
  return (
    <>
      <svg width="20" height="20" viewBox="0 0 20 20" fill="currentColor" aria-hidden="true">
        <circle cx="10" cy="3.6" r="1.6" />
        <path d="M2.5 14a7.5 7.5 0 0 1 15 0z" />
        <rect x="1" y="15.4" width="18" height="2.2" rx="1.1" />
      </svg>
      Bellhop
    </>
  );
}
