-- What an operator sets of a client code, and of one of its properties over that (docs/operations.md). property_code is null
-- where it is said of the client code. What may be said, and what holds where nothing is, is in src/settings.
create table bellhop.property_setting (
  client_code text collate "C" not null,
  property_code text collate "C",
  name text collate "C" not null,
  value text not null,
  changed_at timestamptz not null default clock_timestamp(),
  constraint property_setting_key unique nulls not distinct (client_code, property_code, name)
);

-- A number for all that is set of a client code and for what its labels mean: raised by every change of the one or the
-- other, in the statement that makes it. Two answers under one number were made by the same settings.
create table bellhop.settings_version (
  client_code text collate "C" primary key,
  version integer not null check (version > 0)
);
insert into bellhop.settings_version (client_code, version) select distinct client_code, 1 from bellhop.status_mapping;
