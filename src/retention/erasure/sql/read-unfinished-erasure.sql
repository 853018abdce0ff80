select erasure_id as "erasureId", requested_by as "requestedBy", started_at as "startedAt", salt,
  (
    select json_agg(json_build_object('clientCode', client_code, 'propertyCode', property_code, 'resource', resource,
      'key', key, 'profile', encode(profile_digest, 'hex')))
    from bellhop.erasure_subject as subject where subject.erasure_id = erasure.erasure_id
  ) as subjects
from bellhop.erasure
where erasure_id::text = $1 and finished_at is null
