/** People and companies, all invented; a number of a guest names the same one each time. */

const FIRST_NAMES = [
  "Ana",
  "João",
  "Maria",
  "José",
  "Inês",
  "Miguel",
  "Camille",
  "Théo",
  "Léa",
  "Hugo",
  "Emma",
  "Oliver",
  "Amelia",
  "Jack",
  "Grace",
  "Lukas",
  "Mia",
  "Jürgen",
  "Zoë",
  "Søren",
  "Freja",
  "Łukasz",
  "Zofia",
  "Giulia",
  "Marco",
  "Lucía",
  "Pablo",
  "Chloé",
  "Noah",
  "Yuki",
  "Wei",
  "Priya",
  "Arjun",
  "Fatima",
  "Omar",
  "Elif",
];
const LAST_NAMES = [
  "Silva",
  "Santos",
  "Ferreira",
  "Gonçalves",
  "Martin",
  "Bernard",
  "Dubois",
  "Smith",
  "Jones",
  "Taylor",
  "Brown",
  "Müller",
  "Schmidt",
  "Weber",
  "Nielsen",
  "Jensen",
  "Kowalski",
  "Nowak",
  "Rossi",
  "Bianchi",
  "García",
  "Muñoz",
  "Tanaka",
  "Wang",
  "Patel",
  "Sharma",
  "Haddad",
  "Yılmaz",
  "O’Brien",
  "de Vries",
  "Andersson",
  "Lindqvist",
];
const AGENCIES = [
  "Atlas Travel",
  "Blue Horizon",
  "Meridian Tours",
  "Sol e Mar",
  "North Star Holidays",
  "Viajes Iberia",
];
const COMPANIES = [
  "Lumen Software",
  "Ocean Freight",
  "Serra Energia",
  "Baltic Timber",
  "Orbit Pharma",
  "Delta Consult",
];
const EVENTS = [
  "Congress",
  "Wedding",
  "Sales meeting",
  "Choir tour",
  "Cycling camp",
  "Product launch",
  "Alumni",
  "Incentive",
];

export function guestName(guest: number): string {
  return `${FIRST_NAMES[guest % FIRST_NAMES.length]} ${LAST_NAMES[(guest >>> 8) % LAST_NAMES.length]}`;
}

export function agencyName(guest: number): string {
  return AGENCIES[(guest >>> 4) % AGENCIES.length] as string;
}

export function companyName(guest: number): string {
  return COMPANIES[(guest >>> 4) % COMPANIES.length] as string;
}

export function groupName(name: number): string {
  return `${EVENTS[name % EVENTS.length]} ${LAST_NAMES[(name >>> 8) % LAST_NAMES.length]}`;
}
