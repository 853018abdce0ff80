BASE_URL=${BASE_URL:-http://127.0.0.1:8080}
PROPERTY=${PROPERTY:-LON01}

# 1. A token. It is good for an hour: keep it.
TOKEN=$(curl -sS "$BASE_URL/api/oauth2/token" -d grant_type=client_credentials \
  -d client_id="$CLIENT_ID" -d client_secret="$CLIENT_SECRET" |
  sed 's/.*"access_token":"\([^"]*\)".*/\1/')

# 2. A batch: a JSON array of records of one kind. The answer is 202 and the id of the request.
REQUEST=$(curl -sS "$BASE_URL/api/public/v1/inventories" -H "Authorization: Bearer $TOKEN" \
  -H 'Content-Type: application/json' -H 'Accept: text/plain' --data-binary @- <<BATCH
[{
  "clientCode": "DEMO",
  "propertyCode": "$PROPERTY",
  "createDateTime": "$(date -u +%Y-%m-%dT%H:%M:%SZ)",
  "occupancyDate": "2027-06-01",
  "roomTypeInventories": [
    {"roomTypeCode": "DLX", "roomTypeCapacity": 40, "roomsSold": 31}
  ]
}]
BATCH
)
echo "accepted: $REQUEST"

# 3. Its outcome. The answer comes as soon as the batch is applied.
curl -sS "$BASE_URL/api/public/v1/requests/$REQUEST" -H "Authorization: Bearer $TOKEN" -H 'Prefer: wait=5' |
  grep -o '"status":"[a-z]*"\|"counts":{[^}]*}'
