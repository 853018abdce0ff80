-- What is set of a client code and of one of its properties ($2), or of all of them where $2 is null, with the number that
-- stands for it: one statement, so that the two belong together.
select coalesce((select version from bellhop.settings_version where client_code = $1), 0) as version,
  coalesce(
    (
      select json_agg(json_build_object('propertyCode', property_code, 'name', name, 'value', value))
      from bellhop.property_setting
      where client_code = $1 and (property_code is null or property_code = $2 or $2::text is null)
    ),
    '[]'
  ) as settings
