. ./bellhop.sh

# Where the feed ends now: what comes from here on is new.
feed() {
  call /api/public/v1/changes -G -H "Authorization: Bearer $TOKEN" \
    -d clientCode=DEMO -d propertyCode="$PROPERTY" -d resource=inventories "$@"
}
CURSOR=$(feed -d from=now | sed -n 's/.*"type":"cursor","cursor":"\([^"]*\)".*/\1/p')

# Something changes: another count each time, since a record with the content it had is no change …
push inventories > /dev/null <<BATCH
[{
  "clientCode": "DEMO", "propertyCode": "$PROPERTY", "createDateTime": "$(now)", "occupancyDate": "2028-02-01",
  "roomTypeInventories": [{"roomTypeCode": "DLX", "roomTypeCapacity": 90, "roomsSold": $(($(date +%s) % 90))}]
}]
BATCH

# … and appears in the feed. The answer waits for it, 25 seconds at most; its last line says where to continue.
echo "waiting for the change, 25 s at most"
feed -d wait=25 --data-urlencode cursor="$CURSOR" | grep -o '"key":"[^"]*"\|"change":"[a-z]*"\|"type":"cursor"'
