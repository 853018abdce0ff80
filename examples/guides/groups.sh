. ./bellhop.sh

# block BLOCKS PICKUP: the complete current group block master.
block() {
  push groups <<BATCH
[{
  "clientCode": "DEMO", "propertyCode": "$PROPERTY", "groupCode": "CONF27", "name": "Autumn conference",
  "lastModifiedDateTime": "$(now)", "groupStatusCode": "DEFINITE",
  "startDate": "2027-09-10", "endDate": "2027-09-11", "cutoffDate": "2027-08-11",
  "groupBlocks": [{
    "occupancyDate": "2027-09-10", "roomTypeCode": "DLX",
    "originalBlocks": 25, "blocks": $1, "pickup": $2, "singlePersonRate": "140.00", "currencyCode": "GBP"
  }]
}]
BATCH
}

outcome "$(block 25 0)" | grep -o '"applied":[0-9]*'

# A guest of the conference books: a reservation whose room stay names the block.
REQUEST=$(push reservations <<BATCH
[{
  "clientCode": "DEMO", "propertyCode": "$PROPERTY", "reservationId": "R-2001", "lastModifiedDateTime": "$(now)",
  "status": "CONFIRMED", "numberOfRooms": 1,
  "roomStays": [{
    "arrivalDate": "2027-09-10", "departureDate": "2027-09-11", "roomTypeCode": "DLX", "groupBlockCode": "CONF27"
  }]
}]
BATCH
)
outcome "$REQUEST" | grep -o '"applied":[0-9]*'

# The hotel releases five rooms (wash) and counts the pickup: send the complete master again.
outcome "$(block 20 1)" | grep -o '"applied":[0-9]*'

# The result: 20 held, 1 picked up by the master and by the reservations, 5 released.
get /api/insight/v1/blocks -d clientCode=DEMO -d propertyCode="$PROPERTY" -d from=2027-09-10 -d to=2027-09-10 |
  grep -o '"\(blocks\|pickedUp\|pickedUpRebuilt\|remaining\|wash\)":[^,}]*'
