select kid,
  public_jwk as "publicJwk",
  private_key as "sealedPrivateKey",
  extract(epoch from created_at)::float8 * 1000 as "createdAtMs",
  extract(epoch from activate_at)::float8 * 1000 as "activateAtMs",
  extract(epoch from remove_at)::float8 * 1000 as "removeAtMs"
from bellhop.signing_key
where remove_at is null or remove_at > clock_timestamp()
order by activate_at, kid
