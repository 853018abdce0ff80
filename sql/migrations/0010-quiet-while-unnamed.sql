-- A third state of `quiet`: null, sure to have no warnings for as long as the property's inventory has named no room type. Reservations
-- and blocks of properties that send no inventory are such. No row is rewritten.
alter table bellhop_state.current_record alter column quiet drop not null;
