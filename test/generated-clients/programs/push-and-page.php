<?php
// By the PHP client of openapi-generator: pushes three records of each resource, reads them back, pages through them.
require 'GuzzleHttp/autoload.php';
spl_autoload_register(function (string $name) {
    if (str_starts_with($name, 'OpenAPI\\Client\\'))
        require __DIR__ . '/lib/' . str_replace('\\', '/', substr($name, strlen('OpenAPI\\Client\\'))) . '.php';
});

use OpenAPI\Client\Api\{PushApi, RecordsApi, RequestsApi, TokensApi};
use OpenAPI\Client\Configuration;
use OpenAPI\Client\Model\{Group, GroupBlock, Inventory, Reservation, RoomStay, RoomTypeInventory};
use OpenAPI\Client\ObjectSerializer;

const TIME = '2026-06-01T08:30:00.123456Z';
$hotel = ['client_code' => 'DEMO', 'property_code' => getenv('PROPERTY')];
$day = fn (int $number) => new DateTime("2027-06-0$number");

$night = fn (int $number) => new Inventory($hotel + [
    'create_date_time' => TIME,
    'occupancy_date' => $day($number),
    'room_type_inventories' => [
        new RoomTypeInventory(['room_type_code' => 'DLX', 'room_type_capacity' => 40, 'rooms_sold' => 31]),
    ],
]);
$reservation = fn (int $number) => new Reservation($hotel + [
    'last_modified_date_time' => TIME,
    'reservation_id' => "R-$number",
    'status' => 'CONFIRMED',
    'primary_sharer' => true,
    'sharers' => ['R-9'],
    'room_stays' => [
        new RoomStay(['arrival_date' => $day(1), 'departure_date' => $day(3), 'room_type_code' => 'DLX']),
    ],
]);
$group = fn (int $number) => new Group($hotel + [
    'last_modified_date_time' => TIME,
    'group_code' => "G-$number",
    'group_status_code' => 'DEFINITE',
    'start_date' => $day(1),
    'end_date' => $day(2),
    'group_blocks' => [new GroupBlock([
        'occupancy_date' => $day(1),
        'room_type_code' => 'DLX',
        'blocks' => 20,
        'single_person_rate' => '140.00',
    ])],
]);
$three = fn (callable $made) => array_map($made, [1, 2, 3]);

/** Without what is null: a nullable field that is missing is read as null. */
function given(mixed $value): mixed
{
    if (!is_array($value)) return $value;
    $fields = array_map(given(...), array_filter($value, fn ($one) => $one !== null));
    if (!array_is_list($value)) ksort($fields);
    return $fields;
}

function same(mixed $found, mixed $expected): void
{
    $plain = fn (mixed $value) => json_encode(given(json_decode(json_encode($value), true)));
    [$one, $other] = [$plain($found), $plain($expected)];
    if ($one !== $other) throw new Exception("$one\nis not\n$other");
}

/** The records of every page, of which there are two. */
function allOf(callable $fetch): array
{
    [$records, $pages, $cursor] = [[], 0, null];
    do {
        $page = $fetch($cursor);
        $records = array_merge($records, $page->getItems());
        $cursor = $page->getNextCursor();
        $pages++;
    } while ($cursor !== null);
    same($pages, 2);
    return array_map(fn ($one) => ObjectSerializer::sanitizeForSerialization($one), $records);
}

$configuration = (new Configuration())->setHost(getenv('BASE_URL'));
$token = (new TokensApi(null, $configuration))
    ->issueToken('client_credentials', null, getenv('CLIENT_ID'), getenv('CLIENT_SECRET'));
$configuration->setAccessToken($token->getAccessToken());
$push = new PushApi(null, $configuration);
foreach ([
    $push->pushInventories($three($night)),
    $push->pushReservations($three($reservation)),
    $push->pushGroups($three($group)),
] as $accepted) {
    $status = (new RequestsApi(null, $configuration))->getRequest($accepted->getRequestId(), 'wait=10');
    same([$status->getStatus(), $status->getCounts()->getApplied()], ['applied', 3]);
    foreach ($status->getRecords() as $record) {
        echo "outcome {$record->getOutcome()}\n";
        foreach ($record->getWarnings() as $warning) echo "warning {$warning->getCode()}\n";
    }
}
echo "pushed\n";

$lists = new RecordsApi(null, $configuration);
[$client, $property] = array_values($hotel);
$nights = allOf(fn ($cursor) => $lists->listInventories($client, $property, limit: 2, cursor: $cursor));
$reservations = allOf(fn ($cursor) => $lists->listReservations($client, $property, limit: 2, cursor: $cursor));
$groups = allOf(fn ($cursor) => $lists->listGroups($client, $property, limit: 2, cursor: $cursor));
echo "paged\n";
$plain = fn (array $records) => array_map(fn ($one) => ObjectSerializer::sanitizeForSerialization($one), $records);
same($nights, $plain($three($night)));
same($reservations, $plain($three($reservation)));
same($groups, $plain($three($group)));
echo "read back\n";
