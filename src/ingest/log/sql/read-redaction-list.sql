-- One snapshot of the erasure list, the settings for incoming records, and the keys of both hashes.
select
  (select version || '/' || settings from bellhop.privacy_version) as version,
  array(
    select distinct json_build_object('clientCode', client_code, 'propertyCode', property_code, 'resource', resource,
      'key', key, 'profile', encode(profile_digest, 'hex'))::text
    from bellhop.erasure_subject
  ) as subjects,
  coalesce(
    (
      select json_agg(json_build_object('name', name, 'clientCode', client_code, 'propertyCode', property_code, 'value', value))
      from bellhop.property_setting where name in ('personalData', 'negativeCounts')
    ),
    '[]'
  ) as settings,
  (select value from bellhop.instance where name = 'privacy.list') as list_key,
  (select value from bellhop.instance where name = 'privacy.names') as names_key
