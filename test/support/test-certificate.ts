/**
 * A self-signed certificate for partner.example, valid until 2126, and its key, only for tests. Created by `openssl req
 * -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500 -subj /CN=partner.example -addext
 * subjectAltName=DNS:partner.example`.
 */
export const TEST_CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBpzCCAU2gAwIBAgIUUWVjocLecIRd7tpWwblKU4RjZ4owCgYIKoZIzj0EAwIw
GjEYMBYGA1UEAwwPcGFydG5lci5leGFtcGxlMCAXDTI2MTEyMjA3NTkyMVoYDzIx
MjYxMDI5MDc1OTIxWjAaMRgwFgYDVQQDDA9wYXJ0bmVyLmV4YW1wbGUwWTATBgcq
hkjOPQIBBggqhkjOPQMBBwNCAASOCW6p2CElAX5PgTMyfMv7lsLFa8dGIepxM0m9
WFTGb0CPmNRAh+6wQfKamMtlEI2G8i5GUdDAclK43s/BP/z/o28wbTAdBgNVHQ4E
FgQUitxPgSFQpS6JELZDaJ88hRY+EdUwHwYDVR0jBBgwFoAUitxPgSFQpS6JELZD
aJ88hRY+EdUwDwYDVR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgg9wYXJ0bmVyLmV4
YW1wbGUwCgYIKoZIzj0EAwIDSAAwRQIgc/mTUJSK/XQMVK4uJ13Sz5xmnrB37G3m
i/oJTXnqI6oCIQDmFhYUousCRtIyvg7wr+h8I9XGIpZqt77SZeTNOpxm1A==
-----END CERTIFICATE-----
`;

export const TEST_CERTIFICATE_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgLeaL6J/ue3mrklTd
+aPO4mv3RsJf83bxKhS0NT4oUYmhRANCAASOCW6p2CElAX5PgTMyfMv7lsLFa8dG
IepxM0m9WFTGb0CPmNRAh+6wQfKamMtlEI2G8i5GUdDAclK43s/BP/z/
-----END PRIVATE KEY-----
`;
