. ./bellhop.sh

# One batch, one key. A retry sends the same file, byte for byte, under the same key.
KEY=$(uuidgen 2>/dev/null || cat /proc/sys/kernel/random/uuid)
cat > batch.json <<BATCH
[{
  "clientCode": "DEMO", "propertyCode": "$PROPERTY", "createDateTime": "$(now)", "occupancyDate": "2027-12-24",
  "roomTypeInventories": [{"roomTypeCode": "DLX", "roomTypeCapacity": 40, "roomsSold": 12}]
}]
BATCH

# send: curl retries after 408, 429, 500 and 503, as Retry-After says, and after a lost connection.
send() {
  push inventories -H "Idempotency-Key: $KEY" --retry 8 --retry-connrefused --retry-max-time 600 < batch.json
}
FIRST=$(send)
AGAIN=$(send)
[ "$FIRST" = "$AGAIN" ] && echo "one request, sent twice"

# Another body under the same key is an error.
sed 's/"roomsSold": 12/"roomsSold": 13/' batch.json |
  curl -sS "$BASE_URL/api/public/v1/inventories" -H "Authorization: Bearer $TOKEN" \
    -H 'Content-Type: application/json' --data-binary @- -H "Idempotency-Key: $KEY" | grep -o '"exception":"[A-Za-z.]*"'
rm batch.json
