. ./bellhop.sh

# One record per night with all room types of the hotel: a newer record replaces the older one completely.
REQUEST=$(push inventories <<BATCH
[{
  "clientCode": "DEMO", "propertyCode": "$PROPERTY", "createDateTime": "$(now)",
  "occupancyDate": "2027-07-14",
  "roomTypeInventories": [
    {"roomTypeCode": "DLX", "roomTypeCapacity": 40, "roomsNotAvailableMaintenance": 1,
     "roomsSold": 31, "transientSold": 22, "groupSold": 9},
    {"roomTypeCode": "STD", "roomTypeCapacity": 110, "roomsSold": 87, "transientSold": 60, "groupSold": 27}
  ]
}, {
  "clientCode": "DEMO", "propertyCode": "$PROPERTY", "createDateTime": "$(now)",
  "occupancyDate": "2027-07-15",
  "roomTypeInventories": [
    {"roomTypeCode": "DLX", "roomTypeCapacity": 40, "roomsSold": 42},
    {"roomTypeCode": "STD", "roomTypeCapacity": 110, "roomsSold": 90}
  ]
}]
BATCH
)

# Both are applied. DLX on the 15th is overbooked, which is legal and only raises a warning.
outcome "$REQUEST" | grep -o '"applied":[0-9]*\|"warned":[0-9]*\|"code":"[a-z.-]*"'

# The current nights, verbatim.
get /api/public/v1/inventories -d clientCode=DEMO -d propertyCode="$PROPERTY" \
  -d from=2027-07-14 -d to=2027-07-15 | grep -o '"occupancyDate": "[0-9-]*"'
