insert into bellhop.certification (
  certification_id, client_id, client_code, property_code, request_rate, request_burst, token_burst, token_seconds,
  opened_by, ends_at
)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, clock_timestamp() + make_interval(days => $10::integer))
