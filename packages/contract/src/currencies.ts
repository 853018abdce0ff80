import { isBlank } from "./schema/field.ts";

/** ISO 4217 by decimal places: the current codes, and those withdrawn since 2000, which old records have. */
const CODES_BY_DIGITS: readonly (readonly [digits: number, codes: string])[] = [
  [0, "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF BYR"],
  [
    2,
    "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY " +
      "COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR " +
      "IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD " +
      "NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP " +
      "SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG " +
      "AFA ANG AOR ATS AZM BEF CSD CUC CYP DEM EEK ESP FIM FRF GHC GRD HRK IEP ITL LTL LUF LVL MRO MGF MTL MXP MZM NLG PTE ROL SDD " +
      "SIT SKK SLL SRG STD TMM TRL USS VEB VEF YUM ZMK ZWD ZWL ZWN ZWR",
  ],
  [3, "BHD IQD JOD KWD LYD OMR TND"],
  [4, "CLF UYW"],
  // Without decimal places of their own: metals, funds, "no currency" and "for tests".
  [2, "XAD XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX"],
];

const DIGITS_BY_CODE = new Map(
  CODES_BY_DIGITS.flatMap(([digits, codes]) => codes.split(" ").map((code) => [code, digits] as const)),
);

const DIGITS_OF_MOST = 2;

/** The code that a text means, in the spelling of ISO 4217; null if it is blank. A text that is no such code is kept, trimmed. */
export function currencyOf(text: string): string | null {
  return isBlank(text) ? null : text.trim().toUpperCase();
}

/** Whether ISO 4217 has a code, or had it in this century. */
export function isCurrency(code: string): boolean {
  return DIGITS_BY_CODE.has(code);
}

/** Decimal places of a currency's amounts; two where the currency is null or unknown. */
export function digitsOf(currency: string | null): number {
  return currency === null ? DIGITS_OF_MOST : (DIGITS_BY_CODE.get(currency) ?? DIGITS_OF_MOST);
}
