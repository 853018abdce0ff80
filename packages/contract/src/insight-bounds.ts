/**
 * What a record may say of nights for insight to count it: what says more is kept, read and told to others as it was sent, has a
 * warning, and is left out of insight whole. Far more than hotels have: of 25,000 real bookings the longest is of 60 nights.
 */

/** Nights of one room stay: three years. */
export const STAY_NIGHTS_MAX = 1_100;
/** Nights of all room stays of a reservation together, such as 500 stays of three weeks. */
export const RESERVATION_NIGHTS_MAX = 11_000;
/** Entries of `groupBlocks`, such as 30 room types on each night of a year. */
export const GROUP_BLOCKS_MAX = 11_000;
/** Room types of an inventory record, virtual ones with them. */
export const ROOM_TYPES_MAX = 1_000;
