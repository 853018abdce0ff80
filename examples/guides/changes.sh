. ./bellhop.sh

# The current end of the feed: changes after it are new.
feed() {
  call /api/public/v1/changes -G -H "Authorization: Bearer $TOKEN" \
    -d clientCode=DEMO -d propertyCode="$PROPERTY" -d resource=inventories "$@"
}
CURSOR=$(feed -d from=now | sed -n 's/.*"type":"cursor","cursor":"\([^"]*\)".*/\1/p')

# Change something: another count on each run, because a record with the same content is not a change …
push inventories > /dev/null <<BATCH
[{
  "clientCode": "DEMO", "propertyCode": "$PROPERTY", "createDateTime": "$(now)", "occupancyDate": "2028-02-01",
  "roomTypeInventories": [{"roomTypeCode": "DLX", "roomTypeCapacity": 90, "roomsSold": $(($(date +%s) % 90))}]
}]
BATCH

# … and read it from the feed. The response waits for it up to 25 seconds; its last line has the cursor to continue from.
echo "waiting for the change, 25 s at most"
feed -d wait=25 --data-urlencode cursor="$CURSOR" | grep -o '"key":"[^"]*"\|"change":"[a-z]*"\|"type":"cursor"'
